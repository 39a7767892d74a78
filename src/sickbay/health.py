"""How a run is doing: its state, where its loss is heading, and why."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, nan
from typing import Any, Literal, get_args

import numpy as np

from sickbay.findings import Finding, Suggestion, by_priority
from sickbay.history import History
from sickbay.json_dataclasses import to_json

State = Literal["improving", "stable", "unstable", "critical", "unknown"]
Trend = Literal["falling", "flat", "rising", "unknown"]
STATES: tuple[State, ...] = get_args(State)  # best first

STEPS = 512  # newest losses that show the trend
FEWEST = 20
CLEAR = 2.0  # standard errors by which the halves of those losses must differ


@dataclass(frozen=True, kw_only=True)
class Health:
    """How a run is doing.

    Attributes:
        step: The newest step.
        epoch: The epoch in progress, which is also the number of epochs that have ended.
        state: `critical` if the newest loss is not finite. Else `critical` or `unstable` if a
            problem is present, by the worst of them. Without one, `improving` if the loss falls,
            and else `stable`. `unknown` before the first step.
        trend: Where the loss is heading.
        reasons: Why the state is no better: a loss that is not finite, then the messages of the
            problems, worst first.
        loss: The newest training loss, NaN if there is none.
        val_loss: The newest validation loss, in the same way.
        best_val_loss: The lowest validation loss.
        suggestions: What to try, in order of priority. Of several published ones about the same
            setting, such as the learning rate, only the first is kept.

    >>> health = assess(History(loss=[1 / (step + 1) for step in range(50)]), [])
    >>> print(health)
    improving: the loss is falling (0.02)
    """

    step: int = 0
    epoch: int = 0
    state: State = "unknown"
    trend: Trend = "unknown"
    reasons: tuple[str, ...] = ()
    loss: float = nan
    val_loss: float = nan
    best_val_loss: float = nan
    suggestions: tuple[Suggestion, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return plain values; a string for each number that JSON lacks."""
        values: dict[str, Any] = to_json(asdict(self))
        return values

    def __str__(self) -> str:
        losses = f"{self.loss:.3g}"
        if isfinite(self.val_loss):
            losses += f"; validation {self.val_loss:.3g}, best {self.best_val_loss:.3g}"
        words = "shows no trend yet" if self.trend == "unknown" else f"is {self.trend}"
        if self.trend == "rising" and not isfinite(self.loss):
            words = "is not finite"
        return f"{self.state}: the loss {words} ({losses})"


UNKNOWN = Health()


def assess(history: History, present: Iterable[Finding]) -> Health:
    """Return how a run is doing, given the newest finding of each problem that is present."""
    worst = sorted(present, key=lambda each: each.severity != "critical")
    losses = history.recent("loss", STEPS)
    lost = bool(losses) and not isfinite(losses[-1])
    reasons = [f"the loss is {losses[-1]} at step {history.step}"] if lost else []
    reasons += [f"{each.title} at step {each.step}: {each.message}" for each in worst]
    trend = loss_trend(losses)
    validation = history.epochs("val_loss")
    return Health(
        step=max(history.step, 0),
        epoch=history.epoch,
        state=_state(worst, trend, lost) if history.step >= 0 or worst else "unknown",
        trend=trend,
        reasons=tuple(reasons),
        loss=history.latest("loss"),
        val_loss=validation[-1] if validation else nan,
        best_val_loss=min(filter(isfinite, validation), default=nan),
        suggestions=_agreeing(by_priority(one for each in worst for one in each.suggestions)),
    )


def loss_trend(losses: Sequence[float]) -> Trend:
    """Return where losses are heading: their second half against their first.

    The means must differ by more than twice their standard error.

    >>> loss_trend([2.0, 1.9, 2.1] * 7 + [1.0, 0.9, 1.1] * 7), loss_trend([1.0, 0.9] * 20)
    ('falling', 'flat')
    """
    if losses and not isfinite(losses[-1]):
        return "rising"
    finite = list(filter(isfinite, losses))
    if len(finite) < FEWEST:
        return "unknown"
    before, after = np.array_split(np.array(finite), 2)
    with np.errstate(all="ignore"):  # an infinite variance shows nothing
        error = np.sqrt(np.var(before) / len(before) + np.var(after) / len(after))
        change = np.mean(after) - np.mean(before)
    if not abs(change) > CLEAR * error:
        return "flat"
    return "falling" if change < 0 else "rising"


def _agreeing(suggestions: Iterable[Suggestion]) -> tuple[Suggestion, ...]:
    """Leave out published suggestions that set what an earlier one sets to another value."""
    kept: dict[object, Suggestion] = {}
    for each in suggestions:
        setting = each.code.partition("=")[0].rstrip(" *")
        kept.setdefault((each.kind and setting) or each, each)
    return tuple(kept.values())


def _state(worst: Sequence[Finding], trend: Trend, lost: bool) -> State:
    if lost:
        return "critical"
    if worst and any(each.severity != "info" for each in worst):
        return "critical" if worst[0].severity == "critical" else "unstable"
    return "improving" if trend == "falling" else "stable"
