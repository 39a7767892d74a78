"""RecordedTrial trials made up for the tests of the tuning benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import Any

from benchmarks.tuning.pool import Pool
from benchmarks.tuning.pool_part import Part
from benchmarks.tuning.search_spaces import SPACES, draw
from benchmarks.tuning.tasks import TASKS
from sickbay.tuning.recorded_search import Epoch, RecordedTrial
from sickbay.vitals import Setup

TASK = "cifar10_lstm"


def trial(
    values: Sequence[float],
    *,
    seed: int = 1,
    losses: Sequence[float] = (),
    seconds: Sequence[float] = (),
    task: str = TASK,
    **config: Any,
) -> RecordedTrial:
    """Return a trial with these values of its task's metric, a second an epoch."""
    count = len(values)
    falling = losses or [2.0 / (1 + epoch) for epoch in range(count)]
    epochs = [
        Epoch({"loss": loss, "val_loss": loss, TASKS[task].metric: value}, (), took)
        for loss, value, took in zip(falling, values, seconds or [1.0] * count, strict=True)
    ]
    about = {"seed": seed, "config": {**draw(SPACES[task], seed), **config}}
    return RecordedTrial(f"{task}/{seed}", Setup(epochs=count), epochs, about)


def part(*values: Sequence[float], task: str = TASK) -> Part:
    """Return trials with these values, in this order."""
    return Part(task, tuple(trial(each, seed=n, task=task) for n, each in enumerate(values)))


def pool(count: int, epochs: int = 4, task: str = TASK, first: int = 0) -> Pool:
    """Return trials that are the better the nearer their learning rate is to 0.005."""
    return Pool(task, {}, [learner(first + seed, epochs, task) for seed in range(count)])


def learner(seed: int, epochs: int, task: str) -> RecordedTrial:
    rate = draw(SPACES[task], seed)["learning_rate"]
    reached = 0.9 * exp(-abs(log(rate / 0.005)))
    values = [reached * (1 - 0.5 ** (epoch + 1)) for epoch in range(epochs)]
    losses = [2.3 - 2 * value for value in values]
    metric = values if TASKS[task].maximize else losses
    return trial(metric, seed=seed, losses=losses, task=task)
