"""A trial that is judged by the epoch's mean ends in a replay where it ended live."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest
import torch

from sickbay.problems import ReducedGradient
from sickbay.tuning import load_search
from sickbay.tuning.optuna import DiagnosisPruner, watch
from sickbay.tuning.replay import replay
from tests.tuning.loops import BATCHES, accuracy, learn, network

EPOCHS = 8


def search(folder: Path, zero_batches: int) -> optuna.trial.FrozenTrial:
    """Return a trial whose last batches of every epoch have no gradient, recorded in a folder."""

    def objective(trial: optuna.Trial) -> float:
        model, optimizer = network(0.5)
        options = {"problems": [ReducedGradient()], "chart": folder, "every": 1}
        doctor = watch(trial, model, optimizer, epochs=EPOCHS, **options)  # type: ignore[arg-type]
        for _ in doctor.epochs():
            for place, (x, y) in enumerate(BATCHES):
                zero = place >= len(BATCHES) - zero_batches
                for parameter in model.parameters() if zero else ():
                    hooks.append(parameter.register_hook(torch.zeros_like))  # type: ignore[no-untyped-call]
                doctor.step(learn(model, optimizer, x, y))
                while hooks:
                    hooks.pop().remove()
            doctor.epoch(val_accuracy=accuracy(model))
        return doctor.result()

    hooks: list[torch.utils.hooks.RemovableHandle] = []
    study = optuna.create_study(direction="maximize", pruner=DiagnosisPruner())
    study.optimize(objective, n_trials=1)
    return study.trials[0]


@pytest.mark.parametrize(
    ("zero_batches", "ended"),
    [
        pytest.param(0, None, id="healthy"),
        pytest.param(1, None, id="the-last-batch-is-zero"),
        pytest.param(len(BATCHES), 1, id="every-batch-is-zero"),
    ],
)
def test_live_and_replayed(zero_batches: int, ended: int | None, tmp_path: Path) -> None:
    trial = search(tmp_path, zero_batches)
    diagnosis = trial.user_attrs.get("sickbay:diagnosis")
    assert (diagnosis["epoch"] if diagnosis else None) == ended
    told = replay(load_search.read(str(tmp_path)), [ReducedGradient()])
    replayed = [(each.epoch, each.finding.message) for each in told.together.ended]
    assert replayed == ([(ended, diagnosis["message"])] if diagnosis else [])
