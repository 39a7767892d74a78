"""Comparing a trial with the others of its search."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import inf, isfinite, nan

from sickbay.problems.shared.base import Finding, History, Problem


@dataclass(frozen=True)
class LearningCurve:
    """A trial as others see it: its training loss and its metric after every epoch so far.

    It is `over` if it has reached its last epoch, or had nothing more to gain. A trial that is
    still running, or was ended early, might have got further.
    """

    losses: Sequence[float]
    values: Sequence[float]
    over: bool = False

    @cached_property
    def extremes(self) -> list[tuple[float, float]]:
        """The highest and the lowest finite value after 0 epochs, after 1, and so on."""
        known = [(each, each) if isfinite(each) else (-inf, inf) for each in self.values]
        highest = accumulate((high for high, _ in known), max, initial=-inf)
        lowest = accumulate((low for _, low in known), min, initial=inf)
        return list(zip(highest, lowest, strict=True))


@dataclass(frozen=True)
class Comparison:
    """A trial and the others of its search. Heights are values of its metric, higher is better.

    >>> others = [LearningCurve([], [0.2, 0.5, 0.6], over=True), LearningCurve([], [0.3, 0.4])]
    >>> beside = Comparison(LearningCurve([], [0.1, 0.3]), others, maximize=True)
    >>> beside.height, beside.best_of(0.5, least=1), beside.gains
    (0.3, 0.6, [0.09999999999999998])
    """

    own: LearningCurve
    others: Sequence[LearningCurve] = field(default=())
    maximize: bool = True

    @property
    def done(self) -> int:
        """How many epochs of the trial are over."""
        return len(self.own.values)

    @property
    def height(self) -> float:
        """The best height of the trial so far, minus infinity if there is none."""
        return self.after(self.own, self.done)

    def value(self, height: float) -> float:
        """Return the value of the metric at a height."""
        return height if self.maximize else -height

    def after(self, curve: LearningCurve, epochs: int) -> float:
        """Return the best height of a trial in its first epochs, minus infinity if none."""
        highest, lowest = curve.extremes[min(max(0, epochs), len(curve.values))]
        return highest if self.maximize else -lowest

    def pace(self, window: int) -> float:
        """Return the gain per epoch over the newest epochs, NaN if not known.

        >>> Comparison(LearningCurve([], [0.1, 0.3, 0.2, 0.5])).pace(2)
        0.1
        """
        window = min(window, self.done - 1)
        before = self.after(self.own, self.done - window)
        return (self.height - before) / window if window > 0 and before > -inf else nan

    def best_of(self, share: float, least: int) -> float:
        """Return the height that the best `share` of the trials, at least `least`, have reached.

        Return minus infinity if there are fewer trials.
        """
        count = max(least, round(share * len(self._heights)))
        return self._heights[count - 1] if len(self._heights) >= count else -inf

    @cached_property
    def _heights(self) -> list[float]:
        """The best heights of the other trials, the highest first."""
        heights = (self.after(each, len(each.values)) for each in self.others)
        return sorted(heights, reverse=True)

    @cached_property
    def gains(self) -> list[float]:
        """What each finished trial has gained since the current epoch of this one."""
        gains = []
        for each in self.others:
            if each.over and (then := self.after(each, self.done)) > -inf:
                gains.append(self.after(each, len(each.values)) - then)
        return gains


class ComparedProblem(Problem):
    """A problem that shows in the metric of a trial. A run outside a search never has it."""

    def check(self, history: History) -> Finding | None:  # noqa: ARG002
        return None

    @abstractmethod
    def compare(self, history: History, beside: Comparison) -> Finding | None:
        """Return a finding if the problem is present now. Pure, like `check`."""
