"""Learning curves of trials in an Optuna study, and the pruner for diagnoses."""

from __future__ import annotations

from typing import Any

import optuna
import pytest

from sickbay.errors import UsageError
from sickbay.tuning.optuna import DiagnosisPruner, watch
from sickbay.tuning.optuna.study_notes import read_curve
from tests.tuning.loops import network
from tests.tuning.sample_problems import Rising
from tests.tuning.test_optuna import study


def test_a_long_curve_is_not_written_at_every_epoch() -> None:
    written: list[int] = []

    class Counted(optuna.Trial):
        def set_user_attr(self, key: str, value: Any) -> None:
            if key == "sickbay:course":
                written.append(len(value["values"]))

    trial = study().ask()
    model, optimizer = network(rate=0.5)
    counted = Counted(trial.study, trial._trial_id)
    doctor = watch(counted, model, optimizer, epochs=1000, profile="bttackler", problems=[])
    for epoch in range(1000):
        doctor.epoch(val_accuracy=0.5, loss=1 / (1 + epoch))
    assert written[:100] == list(range(1, 101))
    assert 200 < len(written) < 500


def test_a_long_curve_is_whole_at_its_end() -> None:
    searched = study()
    model, optimizer = network(rate=0.5)
    options: Any = {"profile": "bttackler", "problems": [Rising()]}
    doctor = watch(searched.ask(), model, optimizer, epochs=1000, **options)
    for epoch in range(251):
        doctor.epoch(val_accuracy=0.5, loss=1 if epoch == 250 else 0)
    assert doctor.done
    assert len(searched.trials[0].user_attrs["sickbay:course"]["losses"]) == 251


@pytest.mark.parametrize("pruned", [False, True])
def test_a_long_curve_is_whole_whoever_ends_it(pruned: bool) -> None:
    pruner = optuna.pruners.ThresholdPruner(lower=0.0, n_warmup_steps=2)
    searched = study(pruner=pruner)
    model, optimizer = network(rate=0.5)
    options: Any = {"profile": "bttackler", "problems": []}
    doctor = watch(searched.ask(), model, optimizer, epochs=1000 if pruned else 251, **options)
    for _ in range(250):
        doctor.epoch(val_accuracy=0.5, loss=1.0)
    if pruned:
        with pytest.raises(optuna.TrialPruned):
            doctor.epoch(val_accuracy=-1.0, loss=1.0)
    else:
        doctor.epoch(val_accuracy=0.5, loss=1.0)
    assert len(searched.trials[0].user_attrs["sickbay:course"]["losses"]) == 251


@pytest.mark.parametrize("benign", [False, True])
def test_a_complete_trial_is_over_unless_it_was_sick(benign: bool) -> None:
    course = {"losses": [0.5], "values": [0.25]}
    attributes = {"sickbay:course": course, "sickbay:diagnosis": {"benign": benign}}
    trial = optuna.create_trial(value=0.25, user_attrs=attributes)
    found = read_curve(trial)
    assert found is not None
    assert found.over == benign


class TestDiagnosisPruner:
    def test_it_prunes_by_diagnosis_else_asks_its_base(self) -> None:
        base = optuna.pruners.ThresholdPruner(upper=1.0)
        searched = study(pruner=DiagnosisPruner(base))
        healthy, high, sick, done = (searched.ask() for _ in range(4))
        healthy.report(0.5, 0)
        high.report(2.0, 0)
        sick.set_user_attr("sickbay:diagnosis", {"problem": "x", "benign": False})
        done.set_user_attr("sickbay:diagnosis", {"problem": "x", "benign": True})
        assert [each.should_prune() for each in (healthy, high, sick, done)] == [
            False, True, True, False
        ]  # fmt: skip

    def test_without_a_base_it_leaves_the_others_alone(self) -> None:
        searched = study()
        for _ in range(6):
            trial = searched.ask()
            trial.report(0.9, 0)
            searched.tell(trial, 0.9)
        trial = searched.ask()
        trial.report(0.1, 0)  # far below the median
        assert not trial.should_prune()

    def test_its_base_must_be_a_pruner(self) -> None:
        with pytest.raises(UsageError, match="base must be a pruner of Optuna or None"):
            DiagnosisPruner("median")  # type: ignore[arg-type]
