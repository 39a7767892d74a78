"""A quick range test: what the loss does while the learning rate grows step by step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import inf, isfinite
from typing import Any

import numpy as np
import torch
from torch import nn

from sickbay.checkups.base import Inapplicable
from sickbay.checkups.batch import Batch
from sickbay.checkups.case import Case
from sickbay.checkups.short_training import training
from sickbay.isolated_random import IsolatedRandom
from sickbay.recipe import optimizer_for

LOWEST, HIGHEST, STEPS = 1e-6, 10.0, 30
SMOOTH = 0.6  # share of the loss before that is kept in the next one
BLOWN = 0.5  # of its whole fall, above the start: so far up, the loss has blown up
FALL = 0.05  # share of the start that is a fall
ENDLESS = 10.0  # times the start: a loss that falls so far never ends
SAFE = 10.0  # the rate grows while the loss falls: a rate to stay with is so many times lower


@dataclass(frozen=True)
class Range:
    """The learning rates that were tried, and the smoothed loss after a step with each.

    Attributes:
        rates: The rates, growing.
        losses: The losses.
        steepest: The rate at which the loss falls the most, NaN if it never falls.
        limit: The rate from which on it blows up, inf if there is none.
    """

    rates: tuple[float, ...]
    losses: tuple[float, ...]
    steepest: float
    limit: float

    @property
    def suggested(self) -> float:
        """A rate to begin with."""
        return min(self.steepest, self.limit) / SAFE


def range_test(case: Case, steps: int = STEPS) -> Range:
    """Train a patient for a few steps with the user's own kind of optimizer and growing rates."""
    rates = np.geomspace(LOWEST, HIGHEST, steps).tolist()
    with case.patient(training=True) as model:
        optimizer = _optimizer(case, model)
        shares = [group["lr"] for group in optimizer.param_groups]
        base = max(shares, default=0.0)
        losses = []
        for loss in training(model, case.batch, optimizer, partial(_run, case), case.loss_of):
            losses.append(loss)
            if len(losses) > steps or not isfinite(loss):
                break
            for group, share in zip(optimizer.param_groups, shares, strict=True):
                group["lr"] = rates[len(losses) - 1] * (share / base if base else 1.0)
    if len(losses) < 2:
        raise Inapplicable("there is no loss to follow")
    if min(losses) < losses[0] - ENDLESS * abs(losses[0]):
        raise Inapplicable("the loss has no lowest value")
    return read(rates, losses)


def _run(case: Case, model: nn.Module, batch: Batch) -> Any:
    """Run with the same random numbers in every step: only the rate is to make a difference."""
    with IsolatedRandom(0):
        return case.run(model, batch)


def read(rates: list[float], losses: list[float]) -> Range:
    """Return what the losses say: the first is the one before any step.

    >>> read([1e-3, 1e-2, 1e-1, 1.0], [2.0, 2.0, 1.0, 0.9, 50.0]).limit
    1.0
    """
    start, smoothed, now = losses[0], [], losses[0]
    for loss in losses[1:]:
        now = SMOOTH * now + (1 - SMOOTH) * loss if isfinite(loss) else inf
        smoothed.append(now)
    lowest = min(smoothed)
    blown = start + BLOWN * max(start - lowest, FALL * abs(start))
    limit = next((rate for rate, each in zip(rates, smoothed, strict=False) if each > blown), inf)
    steps = -np.diff([start, *(min(each, blown) for each in smoothed)])
    steep = rates[int(steps.argmax())] if start - lowest > FALL * abs(start) else float("nan")
    return Range(tuple(rates[: len(smoothed)]), tuple(smoothed), steep, limit)


def _optimizer(case: Case, model: torch.nn.Module) -> torch.optim.Optimizer:
    given = case.optimizer
    if isinstance(given, torch.optim.LBFGS):
        raise Inapplicable("LBFGS finds its steps itself")
    try:
        return optimizer_for(model, case.model, given)
    except Exception:
        raise Inapplicable(f"{type(given).__name__} cannot be made anew") from None
