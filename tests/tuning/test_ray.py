"""Trials of Ray Tune, ended by diagnosis, on a local cluster with two workers."""

from __future__ import annotations

import json
import math
import os
import pickle
import subprocess
import sys
from typing import Any

import pytest

import sickbay
from sickbay.doctor.watch_arguments import prepare_watched
from sickbay.problems import NonFinite, PassiveLoss, Problem
from sickbay.problems.trials.comparison import LearningCurve
from sickbay.tuning.ray import DiagnosisStopper, RayDoctor, watch
from sickbay.tuning.ray.stopper import CurveExchange
from sickbay.tuning.ray.watch_trial import ALONE
from tests.tuning.loops import BATCHES, learn, network, train


@pytest.fixture(scope="module")
def printed() -> list[str]:
    """What the example prints, and then the other search; starting Ray takes its time."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RAY_DEDUP_LOGS": "0"}
    command = [sys.executable, "-m", "tests.tuning.ray_search"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    return done.stdout.splitlines()


@pytest.fixture
def found(printed: list[str]) -> Any:
    return json.loads(printed[-1])


def test_the_example_ends_sick_trials_and_no_others(printed: list[str]) -> None:
    heading = next(each for each in printed if "sickbay_diagnosis" in each)
    first = printed.index(heading) + 1
    rows = [row.split() for row in printed[first : first + 4]]
    assert [float(row[0]) for row in rows] == [1e-5, 0.1, 0.3, 1000]
    assert int(rows[0][1]) < 12
    assert rows[0][3] == "never_learnt"
    assert rows[3][1:] == ["1", "-inf", "non_finite"]  # inside its first epoch
    assert max(float(row[2]) for row in rows[1:3]) > 0.85


def test_a_loop_that_ignores_its_end_is_stopped(found: Any) -> None:
    sick = found["told"][1]
    assert sick["sickbay_diagnosis"] == "passive_loss"
    assert sick["sickbay_message"].startswith("step 11  passive loss  loss varied by 0")
    assert not sick["sickbay_benign"]
    assert (sick["training_iteration"], sick["epochs_before"]) == (3, 2)


def test_a_healthy_trial_reports_every_epoch_and_no_diagnosis(found: Any) -> None:
    healthy = found["told"][0]
    assert healthy["sickbay_diagnosis"] == healthy["sickbay_message"] == ""
    assert healthy["training_iteration"] == 8


def test_trials_know_of_the_others_of_their_search_only(found: Any) -> None:
    company = found["told"][2]
    assert company["sickbay_message"].endswith("others: [8]")  # one before had 12
    assert company["sickbay_benign"]


def test_each_trial_has_a_chart_of_its_own(found: Any) -> None:
    assert found["charts"] == 3


def test_without_a_stopper_it_is_said_once_that_trials_were_judged_alone(found: Any) -> None:
    assert found["notices_alone"] == [ALONE]
    assert ALONE not in found["notices"]


def test_what_ends_inside_an_epoch_reports_the_newest_value_that_is_finite(found: Any) -> None:
    healthy, sick = found["told_alone"]
    assert math.isnan(healthy["val_accuracy"])  # the loop's own word
    assert sick["sickbay_diagnosis"] == "non_finite"
    assert (sick["training_iteration"], sick["val_accuracy"]) == (3, 0.5)


def made(model: Any, optimizer: Any, problem: Problem, exchange: CurveExchange) -> RayDoctor:
    """Return the doctor of a trial of two epochs, outside of a search."""
    watched = prepare_watched(
        model,
        optimizer,
        (problem,),
        every=1,
        budget=0.01,
        epochs=2,
        chart=None,
        on_finding="advise",
        activations=True,
    )
    return RayDoctor(watched, "val_accuracy", True, exchange)


class Noted(CurveExchange):
    """Keeps the curves that the others would see."""

    def __init__(self) -> None:
        super().__init__("1")
        self.curves: list[LearningCurve] = []

    def put(self, curve: LearningCurve) -> bool:
        self.curves.append(curve)
        return True


@pytest.mark.filterwarnings("ignore:`report` is meant")
@pytest.mark.parametrize("sick", [False, True])
def test_a_trial_is_over_after_its_last_epoch_unless_it_is_sick(sick: bool) -> None:
    model, optimizer = network(0.5)
    noted = Noted()
    doctor = made(model, optimizer, NonFinite(), noted)
    for epoch in range(2):
        if sick and epoch == 1:
            next(model.parameters()).data.fill_(math.nan)
        doctor.step(learn(model, optimizer, *BATCHES[0]))
        doctor.epoch(val_accuracy=0.5)
    assert [each.over for each in noted.curves] == [False, not sick]


@pytest.mark.filterwarnings("ignore:`report` is meant")
def test_where_ray_does_not_answer_training_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ray._private.auto_init_hook.enable_auto_connect", False)
    model, optimizer = network(0.5)
    doctor = made(model, optimizer, PassiveLoss(), CurveExchange("1"))
    train(doctor, model, optimizer)
    assert doctor.history.epoch == 2
    said = capsys.readouterr().err
    for part in ("other trials", "telling other trials"):
        assert said.count(f"sickbay: {part} failed and is switched off (RaySystemError") == 1
    assert ALONE not in said


def test_the_stopper_can_be_kept_on_disk() -> None:
    stopper = DiagnosisStopper()
    stopper._curves = lambda: None  # what an actor's handle would be
    assert pickle.loads(pickle.dumps(stopper))._curves is None
    assert not stopper.stop_all()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "watch must be called inside a trainable that Ray Tune runs."),
        ({"mode": "maximize"}, "There is no mode 'maximize'. Possible: 'max', 'min'."),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0."),
        ({"metric": ""}, "metric must be a keyword of epoch()"),
    ],
)
def test_what_cannot_be_used_gets_a_sentence(options: Any, expected: str) -> None:
    with pytest.raises(sickbay.UsageError) as error:
        watch(*network(0.5), **{"epochs": 8, "mode": "max", **options})
    assert str(error.value).startswith(expected)


def test_without_ray_tune_the_error_names_the_package() -> None:
    code = (
        "import importlib.util; found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda n, *a: None if n == 'pyarrow' else found(n, *a)\n"
        "import sickbay; sickbay.tuning.ray"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: sickbay.tuning.ray needs Ray Tune: pip install 'sickbay[ray]'."
    )
