"""Trials of Optuna, ended by diagnosis."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

import sickbay
from sickbay.problems import NonFinite
from sickbay.tuning.optuna import DiagnosisPruner, watch
from tests.tuning.loops import BATCHES, learn, network, train
from tests.tuning.recording_problems import Comparing
from tests.tuning.sample_problems import Rising

optuna.logging.set_verbosity(optuna.logging.WARNING)


def study(**options: Any) -> optuna.Study:
    return optuna.create_study(**{"direction": "maximize", "pruner": DiagnosisPruner(), **options})


def objective(trial: optuna.Trial, rate: float = 0.5, **options: Any) -> float:
    model, optimizer = network(rate)
    doctor = watch(trial, model, optimizer, **{"epochs": 8, "profile": "bttackler", **options})
    train(doctor, model, optimizer)
    return doctor.result()


def test_a_trial_that_learns_nothing_is_pruned_and_says_why() -> None:
    searched = study()
    searched.optimize(lambda trial: objective(trial, rate=0.0), n_trials=1)
    (trial,) = searched.trials
    assert trial.state == TrialState.PRUNED
    assert sorted(trial.intermediate_values) == [0, 1, 2]
    assert trial.value == trial.intermediate_values[2]
    diagnosis = trial.user_attrs["sickbay:diagnosis"]
    assert diagnosis == {
        "problem": "passive_loss",
        "message": "loss varied by 0 of its mean in 3 epochs (limit 0.0001)",
        "epoch": 3,
        "step": 11,
        "layers": [],
        "benign": False,
        "evidence": {"spread": 0.0},
    }
    assert trial.user_attrs["sickbay:profile"] == "bttackler"


def test_what_is_raised_is_a_sentence() -> None:
    with pytest.raises(optuna.TrialPruned) as raised:
        objective(study().ask(), rate=0.0)
    assert str(raised.value) == (
        "passive loss at epoch 3, step 11: loss varied by 0 of its mean in 3 epochs (limit 0.0001)."
    )


def test_a_trial_that_learns_is_complete_and_has_its_course_told() -> None:
    searched = study()
    searched.optimize(objective, n_trials=1)
    (trial,) = searched.trials
    assert trial.state == TrialState.COMPLETE
    assert trial.value == max(trial.intermediate_values.values())
    course = trial.user_attrs["sickbay:course"]
    assert len(course["losses"]) == 8
    assert course["values"] == pytest.approx(list(trial.intermediate_values.values()))
    assert "sickbay:diagnosis" not in trial.user_attrs


def test_a_benign_end_keeps_the_trial_as_a_candidate(capsys: pytest.CaptureFixture[str]) -> None:
    searched = study()
    searched.optimize(lambda trial: objective(trial, rate=50.0, problems=[Rising()]), n_trials=1)
    (trial,) = searched.trials
    assert trial.state == TrialState.COMPLETE
    assert trial.user_attrs["sickbay:diagnosis"]["benign"]
    assert len(trial.intermediate_values) < 8
    assert searched.best_trial.number == 0
    assert "trial 0 is done: rising at epoch" in capsys.readouterr().err


def test_nan_ends_a_trial_inside_its_epoch_and_reaches_no_storage(tmp_path: Path) -> None:
    searched = study(storage=f"sqlite:///{tmp_path}/study.db")
    trial = searched.ask()
    model, optimizer = network(rate=0.5)
    doctor = watch(trial, model, optimizer, epochs=8, profile="bttackler", problems=[NonFinite()])
    doctor.step(learn(model, optimizer, *BATCHES[0]))
    doctor.epoch(val_accuracy=0.5)
    next(model.parameters()).data.fill_(math.nan)
    doctor.step(learn(model, optimizer, *BATCHES[0]))
    doctor._background.wait()
    with pytest.raises(optuna.TrialPruned, match=r"^non finite .*at epoch 1, step 1: "):
        doctor.step(learn(model, optimizer, *BATCHES[0]))
    frozen = searched.trials[0]
    assert frozen.user_attrs["sickbay:diagnosis"]["problem"] == "non_finite"
    json.dumps(frozen.user_attrs, allow_nan=False)
    assert frozen.intermediate_values == {0: 0.5}


def test_nan_in_the_last_step_of_all_ends_a_trial_too() -> None:
    searched = study()
    model, optimizer = network(rate=0.5)
    doctor = watch(searched.ask(), model, optimizer, epochs=1, problems=[NonFinite()])
    doctor.step(learn(model, optimizer, *BATCHES[0]))
    next(model.parameters()).data.fill_(math.nan)
    doctor.step(learn(model, optimizer, *BATCHES[0]))
    with pytest.raises(optuna.TrialPruned, match=r"^non finite "):
        doctor.epoch(val_accuracy=0.5)


def test_a_metric_that_is_nan_is_not_reported() -> None:
    searched = study()
    trial = searched.ask()
    model, optimizer = network(rate=0.5)
    doctor = watch(trial, model, optimizer, epochs=8, profile="bttackler")
    for value in (0.5, math.nan, math.inf, 0.25):
        doctor.epoch(val_accuracy=value, loss=math.nan)
    frozen = searched.trials[0]
    assert frozen.intermediate_values == {0: 0.5, 3: 0.25}
    course = {"losses": [None] * 4, "values": [0.5, None, None, 0.25]}
    assert frozen.user_attrs["sickbay:course"] == {**course, "first": None, "steps": 0}
    assert doctor.best == 0.5


def test_a_result_that_was_never_finite_costs_the_trial_but_not_the_study() -> None:
    searched = study()
    model, optimizer = network(rate=0.5)
    doctor = watch(searched.ask(), model, optimizer, epochs=1, profile="bttackler")
    train(doctor, model, optimizer, evaluate=lambda _: math.nan)
    with pytest.raises(optuna.TrialPruned, match=r"^val_accuracy was never a finite number\.$"):
        doctor.result()


def test_the_study_s_own_pruner_is_respected() -> None:
    searched = study(pruner=optuna.pruners.ThresholdPruner(lower=2.0, n_warmup_steps=2))
    searched.optimize(objective, n_trials=1)
    assert searched.trials[0].state == TrialState.PRUNED
    assert sorted(searched.trials[0].intermediate_values) == [0, 1, 2]
    assert "sickbay:diagnosis" not in searched.trials[0].user_attrs


class Buggy(optuna.pruners.BasePruner):
    """A pruner with a bug."""

    def prune(self, *_: object) -> bool:
        raise ZeroDivisionError("oh")


def test_a_pruner_that_fails_is_said_to_and_costs_no_trial(
    capsys: pytest.CaptureFixture[str],
) -> None:
    searched = study(pruner=Buggy())
    searched.optimize(objective, n_trials=1)
    assert searched.trials[0].state == TrialState.COMPLETE
    said = capsys.readouterr().err
    assert said.count("the study's pruner failed (ZeroDivisionError: oh); training goes on") == 1
    assert "cannot be reached" not in said


def test_in_a_study_of_several_objectives_trials_are_pruned_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    searched = optuna.create_study(directions=["maximize", "minimize"])

    def two(trial: optuna.Trial) -> tuple[float, float]:
        rate = trial.suggest_categorical("rate", [0.0, 0.5])
        return objective(trial, rate, direction="maximize"), rate

    for rate in (0.0, 0.5):
        searched.enqueue_trial({"rate": rate})
    searched.optimize(two, n_trials=2)
    assert [each.state for each in searched.trials] == [TrialState.PRUNED, TrialState.COMPLETE]
    assert searched.trials[0].user_attrs["sickbay:diagnosis"]["problem"] == "passive_loss"
    assert not searched.trials[0].intermediate_values
    assert len(searched.trials[1].user_attrs["sickbay:course"]["values"]) == 8
    assert "sickbay: " not in capsys.readouterr().err


def test_other_trials_of_the_study_are_known_and_how_they_ended() -> None:
    searched = study()
    searched.optimize(lambda trial: objective(trial, rate=0.0), n_trials=1)
    searched.optimize(lambda trial: objective(trial, epochs=3), n_trials=1)
    running = searched.ask()
    running.set_user_attr("sickbay:course", {"losses": [0.5, None], "values": [0.25]})
    searched.ask()  # knows nothing of sickbay
    comparing = Comparing()
    searched.optimize(lambda trial: objective(trial, problems=[comparing]), n_trials=1)
    assert [len(each) for each in comparing.seen] == [3, 3]  # it is none of the others
    pruned, complete, alive = comparing.seen[0]
    assert (len(pruned.losses), pruned.over) == (3, False)
    assert (len(complete.values), complete.over) == (3, True)
    assert (alive.losses[0], math.isnan(alive.losses[1])) == (0.5, True)
    assert (list(alive.values), alive.over) == ([0.25], False)


def test_the_best_trials_are_protected() -> None:
    searched = study()
    for loss in range(1, 13):  # they were all worse than the one to come
        searched.add_trial(
            optuna.create_trial(
                value=0.1,
                user_attrs={"sickbay:course": {"losses": [float(loss)] * 5, "values": [0.1] * 5}},
            )
        )
    searched.optimize(lambda trial: objective(trial, rate=0.0), n_trials=1)
    assert searched.trials[-1].state == TrialState.COMPLETE


@pytest.mark.parametrize("learns", ["last", "constraint", "penalty"])
@pytest.mark.parametrize("again", [optuna.trial.FixedTrial({}), optuna.create_trial(value=0.5)])
def test_a_trial_that_is_tried_again_is_watched_but_not_ended(
    again: Any, learns: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    model, optimizer = network(rate=0.0)
    options: Any = {"profile": "bttackler", "direction": "maximize", "learns": learns}
    doctor = watch(again, model, optimizer, epochs=8, **options)
    train(doctor, model, optimizer)
    assert doctor.history.epoch == 8
    assert not doctor.done
    assert [each.problem for each in doctor.findings] == ["passive_loss"]
    assert "passive loss" in capsys.readouterr().err
    assert doctor.result() == doctor.best


def test_each_trial_has_a_chart_of_its_own(tmp_path: Path) -> None:
    searched = study()
    searched.optimize(lambda trial: objective(trial, rate=0.0, chart=tmp_path), n_trials=2)
    for trial in searched.trials:
        folder = trial.user_attrs["sickbay:chart"]
        assert folder == str(tmp_path / f"trial-{trial.number}")
        found = sickbay.Chart.open(folder).findings()
        assert [each.problem for each in found] == ["passive_loss"]


def test_two_trials_at_once_in_threads_of_one_process() -> None:
    searched = study()
    rates = iter([0.0, 0.5] * 3)
    searched.optimize(lambda trial: objective(trial, next(rates)), n_trials=6, n_jobs=2)
    states = sorted(each.state.name for each in searched.trials)
    assert states == ["COMPLETE"] * 3 + ["PRUNED"] * 3
