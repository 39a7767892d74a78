"""A trial that was among the best once stays protected from the problems of BTTackler's code."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from sickbay.doctor.watch_arguments import prepare_watched
from sickbay.history import History
from sickbay.probe.guard import Guard
from sickbay.problems import NeverLearnt, PassiveLoss, Problem
from sickbay.problems.profiles import PROFILES
from sickbay.problems.published import bttackler_paper
from sickbay.problems.trials.comparison import Comparison, LearningCurve
from sickbay.tuning.background_judge import BackgroundJudge, Readings
from sickbay.tuning.judge import Protection, find_end
from sickbay.tuning.optuna import DiagnosisPruner, watch
from sickbay.tuning.ray import RayDoctor
from sickbay.tuning.ray.stopper import CurveExchange
from sickbay.tuning.recorded_search import Epoch, RecordedSearch, RecordedTrial
from sickbay.tuning.replay import replay
from sickbay.vitals import Setup
from tests.tuning import workers
from tests.tuning.loops import network, train

# At first they are worse than a trial that stays at 0.7, then better.
OVERTAKING = [9.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
OTHERS = [LearningCurve(OVERTAKING, [0.5] * 8, over=True)] * 12


def failed(*trouble: object) -> None:
    raise AssertionError(trouble)


def end_of(problem: Problem, others: Sequence[LearningCurve]) -> int | None:
    """Return the epoch at which a trial whose loss stays at 0.7 is ended, None if never."""
    history, protection = History(Setup(epochs=20)), Protection([problem])
    for epoch in range(1, 9):
        history.end_epoch(loss=0.7)
        beside = Comparison(LearningCurve([0.7] * epoch, []), others)
        protection.end_epoch(beside)
        was = protection.was_among_best
        if find_end([problem], history, beside, Guard(failed), was) is not None:
            return epoch
    return None


@pytest.mark.parametrize(
    ("problem", "others", "expected"),
    [
        pytest.param(PassiveLoss(), OTHERS, None, id="once-among-the-best"),
        pytest.param(PassiveLoss(), OTHERS[:9], 3, id="too-few-others"),
        pytest.param(PassiveLoss(), [LearningCurve([0.1] * 8, [])] * 12, 3, id="never-among-them"),
        pytest.param(bttackler_paper.PassiveLoss(), OTHERS, 2, id="the-paper-protects-none"),
    ],
)
def test_protection_lasts(
    problem: Problem, others: Sequence[LearningCurve], expected: int | None
) -> None:
    assert end_of(problem, others) == expected


def test_in_the_tuning_profile_it_does_not_last() -> None:
    assert not any(problem.protection_lasts for problem in PROFILES["tuning"])
    protection = Protection([NeverLearnt()])
    protection.end_epoch(Comparison(LearningCurve([0.7], []), OTHERS))
    assert not protection.was_among_best


def judged(others: Sequence[LearningCurve]) -> str | None:
    """Return why the judge of a trial ends it."""
    setup = Setup(epochs=20)
    judge = BackgroundJudge([PassiveLoss()], History(setup), "val_accuracy", True, lambda: others)
    for _ in range(8):
        judge.send(Readings([], setup, {"loss": 0.7}))
    assert judge.wait()
    judge.close()
    return judge.end.finding.problem if judge.end else None


def test_the_judge_of_a_trial_remembers() -> None:
    assert judged(OTHERS) is None
    assert judged(OTHERS[:9]) == "passive_loss"


def test_a_replay_remembers() -> None:
    def recorded(name: str, losses: Sequence[float]) -> RecordedTrial:
        epochs = [Epoch({"loss": loss, "val_accuracy": 0.5}) for loss in losses]
        return RecordedTrial(name, Setup(epochs=20), epochs)

    before = [recorded(str(number), OVERTAKING) for number in range(12)]
    for others, expected in ((before, []), (before[:9], ["still"])):
        trials = [*others, recorded("still", [0.7] * 8)]
        search = RecordedSearch("one", trials, "val_accuracy", maximize=True)
        assert [each.trial for each in replay(search, [PassiveLoss()]).together.ended] == expected


@pytest.mark.parametrize("others", [12, 9])
def test_trials_of_other_processes_protect_it_in_optuna(others: int, tmp_path: Path) -> None:
    address = str(tmp_path / "study")
    storage = workers.storage("journal", address)
    study = optuna.create_study(
        study_name=workers.STUDY, storage=storage, direction="maximize", pruner=DiagnosisPruner()
    )
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        pool.submit(workers.add_trials, "journal", address, OVERTAKING, others).result(120)

    def objective(trial: optuna.Trial) -> float:
        model, optimizer = network(workers.SICK)
        doctor = watch(trial, model, optimizer, epochs=8, profile="bttackler", every=1)
        train(doctor, model, optimizer)
        return doctor.result()

    study.optimize(objective, n_trials=1)
    ended = study.trials[-1]
    assert ended.state == (TrialState.COMPLETE if others == 12 else TrialState.PRUNED)


class Company(CurveExchange):
    """Knows some trials, as if an actor had told of them."""

    def __init__(self, others: Sequence[LearningCurve]) -> None:
        super().__init__("1")
        self._others = others

    def others(self) -> Sequence[LearningCurve]:
        return self._others

    def put(self, curve: LearningCurve) -> bool:  # noqa: ARG002
        return True


@pytest.mark.filterwarnings("ignore:`report` is meant")
@pytest.mark.parametrize("others", [12, 9])
def test_trials_of_ray_protect_it(others: int) -> None:
    model, optimizer = network(workers.SICK)
    options: dict[str, Any] = {"every": 1, "budget": 0.01, "epochs": 8, "chart": None}
    options |= {"on_finding": "advise", "activations": True}
    watched = prepare_watched(model, optimizer, PROFILES["bttackler"], **options)
    doctor = RayDoctor(watched, "val_accuracy", True, Company(OTHERS[:others]))
    train(doctor, model, optimizer)
    assert (doctor.diagnosis is None) is (others == 12)
