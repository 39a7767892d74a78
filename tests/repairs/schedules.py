"""Schedules of all kinds, and a recipe to train with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from torch import nn
from torch.optim import SGD, Optimizer
from torch.optim import lr_scheduler as lrs

from sickbay.demo.flawed_models import circles
from sickbay.recipe import Recipe
from sickbay.repairs.data import Data
from sickbay.repairs.run_settings import RunSettings
from sickbay.repairs.training_loop import TrainingLoop
from tests.repairs.test_fit import healthy

EPOCHS, BATCHES = 6, 8
STEPS = EPOCHS * BATCHES


def rising(step: int) -> float:
    return min(1.0, (step + 1) / 4)


def one_cycle(optimizer: Optimizer) -> lrs.LRScheduler:
    return lrs.OneCycleLR(optimizer, 0.02, total_steps=STEPS)


def sequence(optimizer: Optimizer) -> lrs.LRScheduler:
    first = lrs.LinearLR(optimizer, 0.1, total_iters=2)
    return lrs.SequentialLR(optimizer, [first, lrs.ExponentialLR(optimizer, 0.5)], [3])


def cyclic(optimizer: Optimizer) -> lrs.LRScheduler:
    return lrs.CyclicLR(optimizer, 0.001, 0.02, step_size_up=5, cycle_momentum=False)


KINDS: dict[str, tuple[Callable[[Optimizer], lrs.LRScheduler], str]] = {
    "step": (lambda made: lrs.StepLR(made, 2, gamma=0.3), "epoch"),
    "cosine": (lambda made: lrs.CosineAnnealingLR(made, EPOCHS), "epoch"),
    "one-cycle": (one_cycle, "batch"),
    "plateau": (lambda made: lrs.ReduceLROnPlateau(made, factor=0.5, patience=0), "epoch"),
    "plateau-of-the-score": (
        lambda made: lrs.ReduceLROnPlateau(made, "max", factor=0.5, patience=0),
        "epoch",
    ),
    "lambda": (lambda made: lrs.LambdaLR(made, rising), "batch"),
    "sequence": (sequence, "epoch"),
    "cyclic": (cyclic, "batch"),
    "chain": (
        lambda made: lrs.ChainedScheduler([lrs.ConstantLR(made), lrs.ExponentialLR(made, 0.9)]),
        "epoch",
    ),
}
KIND = pytest.mark.parametrize(("make", "step"), KINDS.values(), ids=KINDS)


def sgd(model: nn.Module) -> SGD:
    first, *others = model.parameters()
    groups: list[dict[str, Any]] = [{"params": [first], "lr": 0.01}, {"params": others}]
    return SGD(groups, lr=0.02, momentum=0.5)


def rates_of(recipe: Recipe, epochs: int) -> list[float]:
    """Return the rate of the first group in each epoch of a run."""
    data = Data.of(circles(64), circles(32, seed=1), batch_size=32)
    run = TrainingLoop(recipe, data, RunSettings(problems=(), treatable=(), epochs=epochs))
    rates = []
    while not run.over:
        rates.append(run.live.optimizer.param_groups[0]["lr"])
        run.advance(1)
    assert not run.progress().failed
    return rates


def recipe(make: Callable[[Optimizer], lrs.LRScheduler], step: Any = "epoch") -> Recipe:
    model = healthy()
    optimizer = sgd(model)
    loss = nn.BCEWithLogitsLoss()
    return Recipe(model, loss, optimizer, scheduler=make(optimizer), scheduler_step=step)
