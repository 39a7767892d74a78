"""Longer than 60 lines: a rate can be too high from the start, since it was raised, or once."""

from dataclasses import replace
from math import nan

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.learns_badly import RECENT, level
from sickbay.problems.shared.problem_groups import EVERYTHING
from sickbay.problems.shared.unusually_high_rate import UnusuallyHighRate
from sickbay.problems.shared.usual_rates import relative_rate
from sickbay.problems.shared.weight_updates import (
    fast_median,
    inner_steps,
    relative_gradients,
    updates,
)
from sickbay.vitals import Numbers, Table

HUGE = 100  # times the weight: then the gradient is to blame, not the rate
WINDOW = 512  # learning rates to look back at


@dataclass(frozen=True, kw_only=True)
class LearningRateTooHigh(UnusuallyHighRate):
    """Each step changes the weights by a large part of their size, and the loss does not fall.

    Why it matters:
        Every step destroys what the model learnt in the step before.

    How it is judged:
        An update is measured relative to the weights, as the median over kernels. It is above
        `ratio` in each of the last `checks` readings, and the mean loss of the last 10 steps is
        above `loss` times the first loss (where batches are small, the median over `samples`
        samples). Or the update is above `ratio` once, just after the learning rate was raised to
        more than `raised` times its highest value so far. Or one step changes a kernel by more than
        `jump` times its size, although its gradient is at most 100 times as large as the weight.
        If the optimizer takes several steps at once, as LBFGS does, an update is divided by their
        number. Or the rate is more than `unusual` times as high as usual for its optimizer (ten
        times as much for SGD, where a loss that is a sum counts as so many rates), and from step
        `after` on the model gains less than `gain` over a constant answer. If it learns at such a
        rate, but its loss rose in a third of the epochs of the second half of the run, the severity
        is `info`. So unusual a rate is a cause of its own whatever else is found.

    Example:
        >>> rows = {"a.weight": {"update_ratio": 0.8}, "b.weight": {"update_ratio": 0.9}}
        >>> history = History(loss=[0.7] + 9 * [2.3])
        >>> history.add_table("weight", rows, step=9)
        >>> print(LearningRateTooHigh(checks=1).check(history).message)
        a step changes the weights by 85 % of their size (limit 10 %), loss 2.14, initially 0.7

    Reference:
        Karpathy (2015), on the ratio of updates to weights, which should be around 0.001.
    """

    advice = "divide the learning rate by 10, or warm it up"
    reads = ("weight", "end")
    explains = ("non_finite", *EVERYTHING)

    ratio: float = threshold(0.1, "Limit for an update, relative to the weights.", above=0)
    loss: float = threshold(1.2, "Limit for the loss, as a multiple of the first loss.", above=0)
    checks: int = threshold(3, "Readings in a row that must show it.", least=1)
    jump: float = threshold(
        3.0, "Limit for one update of one kernel, relative to its size.", above=0
    )
    raised: float = threshold(
        20.0, "Limit for a rise of the rate, as a multiple of its highest value.", above=1
    )

    def check(self, history: History) -> Finding | None:
        thrown = self._thrown(history)
        if not self.is_unusual(history):
            return thrown
        if thrown is None:
            return self.unusual_rate(history) or self.restless_end(history)
        return replace(thrown, evidence={**thrown.evidence, "relative": relative_rate(history)})

    def _thrown(self, history: History) -> Finding | None:
        tables = history.tables("weight", self.checks)
        if not tables:
            return None
        newest, step = step_updates(history, tables[-1]), tables[-1].step
        largest = newest.max(initial=0.0)
        if largest > self.jump and not (relative_gradients(history) > HUGE).any():
            message = f"a step changes weights by {largest:.3g} times their size"
            message += f" (limit {self.jump:g})"
            return self.found(history, message, step=step, ratio=float(largest))
        if not (now := fast_median(newest)) > self.ratio:
            return None
        return self._raised(history, step, now) or self._lasting(history, tables)

    def _raised(self, history: History, step: int, now: float) -> Finding | None:
        *before, rate = history.recent("lr", WINDOW) or [nan]
        usual = max(before[: 1 - self.checks or None], default=nan)
        if not (usual > 0 and rate > self.raised * usual):
            return None
        message = f"learning rate {rate:.3g}, previously at most {usual:.3g}; a step changes"
        message += f" the weights by {100 * now:.3g} % of their size"
        return self.found(history, message, step=step, rate=rate, before=usual)

    def _lasting(self, history: History, tables: list[Table]) -> Finding | None:
        ratio = min(fast_median(step_updates(history, table)) for table in tables)
        if len(tables) < self.checks or not ratio > self.ratio:
            return None
        steps = self.steps(history)
        window = max(RECENT, steps)
        first, losses = self.first_loss(history), history.recent("loss", window)
        if len(losses) < window or first <= 0:
            return None
        now = level(losses, steps)
        if not now > self.loss * first:
            return None
        message = (
            f"a step changes the weights by {100 * ratio:.3g} % of their size "
            f"(limit {100 * self.ratio:g} %), loss {now:.3g}, initially {first:.3g}"
        )
        step = tables[-1].step
        return self.found(history, message, step=step, ratio=ratio, loss=now, first=first)


def step_updates(history: History, table: Table) -> Numbers:
    """Return the update of each kernel by a single step, relative to its size."""
    return updates(history, table) / inner_steps(history)
