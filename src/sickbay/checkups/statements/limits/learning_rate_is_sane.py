"""Longer than 60 lines: it holds the range test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite, isnan
from typing import Any

import numpy as np
import torch
from torch import nn

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, threshold
from sickbay.checkups.batch import Batch
from sickbay.checkups.training_passes import training_losses
from sickbay.isolated_random import IsolatedRandom
from sickbay.optimizers import optimizer_for

LOWEST, HIGHEST, STEPS = 1e-6, 10.0, 30
SMOOTHING = 0.6  # weight of the previous loss in the smoothed one
DIVERGED = 0.5  # of its whole fall, above the start
FALL = 0.05  # share of the start that counts as a fall
ENDLESS = 10.0  # times the start: a loss that falls further has no minimum
SAFETY = 10.0  # the rate grew while the loss fell, so a constant one must be this much lower


@dataclass(frozen=True, kw_only=True)
class LearningRateIsSane(Statement):
    """The loss falls at the learning rate of the optimizer.

    Why it matters:
        A rate that is too high breaks training; one far too low makes it a thousand times slower.

    How it is tested:
        A copy is trained for `steps` steps with the same kind of optimizer, while the rate grows
        from 1e-6 to 10. The suggested rate is a tenth of the one where the loss falls the most. The
        rate in use must be below the one where the loss diverges. It may be at most `above` times
        as high as the suggested one, and at most `below` times as low. `result.plot("rates.png")`
        draws the curve.
    """

    order = 5
    severity = "warning"
    remedy = "use the suggested rate"
    optional = True

    steps: int = threshold(30, "Steps of the range test.", least=10)
    above: float = threshold(
        100.0, "Limit for the rate, as a multiple of the suggested one.", above=1
    )
    below: float = threshold(
        1000.0, "How many times smaller than the suggested rate it may be.", above=1
    )

    def examine(self, setup: ModelSetup) -> Result:
        groups = setup.optimizer.param_groups
        rate = max(float(group.get("initial_lr", group.get("lr", 0.0))) for group in groups)
        found = range_test(setup, self.steps)
        curves = {"rate": found.rates, "loss": found.losses}
        result = self._judge(rate, found)
        return replace(result, curves=curves, evidence={"rate": rate, **result.evidence})

    def _judge(self, rate: float, found: Range) -> Result:
        if isnan(found.steepest):
            return self.skipped("the loss does not fall at any rate")
        suggested = found.suggested
        numbers: dict[str, Any] = {"steepest": found.steepest, "suggested": suggested}
        message, remedy = f"the learning rate is {rate:.2g}", f"set it to about {suggested:.1g}"
        if rate >= found.limit:
            message = f"{message}, but the loss diverges at {found.limit:.2g} and above"
            return self.fails(message, remedy=remedy, **numbers)
        message = f"{message}; {suggested:.2g} is suggested"
        limit = ""
        if rate / self.above > suggested:
            limit = f" (limit {self.above:g} times above)"
        if suggested / self.below > rate:
            limit = f" (limit {self.below:g} times below)"
        if limit:
            return self.fails(message + limit, remedy=remedy, **numbers)
        return self.holds(message, **numbers)


@dataclass(frozen=True)
class Range:
    """The learning rates tried, and the smoothed loss after a step with each."""

    rates: tuple[float, ...]
    losses: tuple[float, ...]
    steepest: float  # the rate at which the loss falls the most, NaN if it never falls
    limit: float  # the rate from which on the loss diverges, inf if there is none

    @property
    def suggested(self) -> float:
        """A rate to start with."""
        return min(self.steepest, self.limit) / SAFETY


def range_test(setup: ModelSetup, steps: int = STEPS) -> Range:
    """Train a copy for a few steps with the user's kind of optimizer and growing rates."""
    rates = np.geomspace(LOWEST, HIGHEST, steps).tolist()

    def run(model: nn.Module, batch: Batch) -> Any:
        with IsolatedRandom(0):  # the same in every step: only the rate should matter
            return setup.run(model, batch)

    with setup.model_copy(training=True) as model:
        optimizer = _new_optimizer(setup, model)
        given = [group["lr"] for group in optimizer.param_groups]
        highest = max(given, default=0.0)
        losses = []
        for loss in training_losses(model, setup.batch, optimizer, run, setup.loss_of):
            losses.append(loss)
            if len(losses) > steps or not isfinite(loss):
                break
            for group, rate in zip(optimizer.param_groups, given, strict=True):
                group["lr"] = rates[len(losses) - 1] * (rate / highest if highest else 1.0)
    if len(losses) < 2:
        raise Inapplicable("there is no loss to train with")
    if min(losses) < losses[0] - ENDLESS * abs(losses[0]):
        raise Inapplicable("the loss has no minimum")
    return interpret(rates, losses)


def interpret(rates: list[float], losses: list[float]) -> Range:
    """Return what the losses show; the first one is from before any step.

    >>> interpret([1e-3, 1e-2, 1e-1, 1.0], [2.0, 2.0, 1.0, 0.9, 50.0]).limit
    1.0
    """
    start, smoothed, now = losses[0], [], losses[0]
    for loss in losses[1:]:
        now = SMOOTHING * now + (1 - SMOOTHING) * loss if isfinite(loss) else inf
        smoothed.append(now)
    lowest = min(smoothed)
    diverged = start + DIVERGED * max(start - lowest, FALL * abs(start))
    pairs = zip(rates, smoothed, strict=False)
    limit = next((rate for rate, loss in pairs if loss > diverged), inf)
    falls = -np.diff([start, *(min(loss, diverged) for loss in smoothed)])
    falling = start - lowest > FALL * abs(start)
    steepest = rates[int(falls.argmax())] if falling else float("nan")
    return Range(tuple(rates[: len(smoothed)]), tuple(smoothed), steepest, limit)


def _new_optimizer(setup: ModelSetup, model: nn.Module) -> torch.optim.Optimizer:
    given = setup.optimizer
    if isinstance(given, torch.optim.LBFGS):
        raise Inapplicable("LBFGS chooses its step size itself")
    try:
        return optimizer_for(model, setup.model, given)
    except Exception:
        raise Inapplicable(f"no second {type(given).__name__} could be created") from None
