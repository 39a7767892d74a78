"""A search that is over: its trials, and which of them are the good ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite, nan

from sickbay.arguments import check_bool, check_list, check_text
from sickbay.problems.compared import LearningCurve
from sickbay.tuning.recorded_trial import Recorded

TEN = 10  # the best trials of a search


@dataclass(frozen=True)
class Search:
    """Trials in the order in which they began, and the metric that they are compared by.

    What a trial has reached is the best finite value of any of its epochs.

    >>> from sickbay.vitals import Setup
    >>> from sickbay.tuning.recorded_trial import Epoch
    >>> curves = {"a": [0.2, 0.5], "b": [0.9, 0.7], "c": [0.1, nan]}
    >>> trials = [
    ...     Recorded(name, Setup(), [Epoch({"val_accuracy": value}) for value in values])
    ...     for name, values in curves.items()
    ... ]
    >>> search = Search("three", trials, "val_accuracy", maximize=True)
    >>> search.values, search.places
    ([0.5, 0.9, 0.1], [2, 1, 3])
    """

    name: str
    trials: Sequence[Recorded]
    metric: str
    maximize: bool

    def __post_init__(self) -> None:
        check_list("trials", self.trials, Recorded, "recorded trials")
        check_text("metric", self.metric)
        check_bool("maximize", self.maximize)

    @cached_property
    def values(self) -> list[float]:
        """What each trial has reached, NaN if nothing."""
        return [self.reached(trial, len(trial.epochs)) for trial in self.trials]

    @cached_property
    def places(self) -> list[int]:
        """The place of each trial, 1 for the best; of equal ones the earlier comes first."""
        ranked = sorted(range(len(self.values)), key=lambda index: -self._height(index))
        places = [0] * len(ranked)
        for place, index in enumerate(ranked, 1):
            places[index] = place
        return places

    @cached_property
    def seconds(self) -> float:
        """What all trials took."""
        return sum(epoch.seconds for trial in self.trials for epoch in trial.epochs)

    @property
    def tenth(self) -> int:
        """How many trials the best ten per cent are, at least one."""
        return max(1, len(self.trials) // 10)

    def reached(self, trial: Recorded, epochs: int) -> float:
        """Return the best value of the first epochs of a trial, NaN if there is none."""
        course = self.course(trial, epochs)
        finite = [value for value in course.values if isfinite(value)]
        return (max if self.maximize else min)(finite, default=nan)

    def course(self, trial: Recorded, epochs: int, over: bool = True) -> LearningCurve:
        """Return the first epochs of a trial as other trials see it."""
        scalars = [epoch.scalars for epoch in trial.epochs[:epochs]]
        losses = [each["loss"] for each in scalars if "loss" in each]
        values = [each[self.metric] for each in scalars if self.metric in each]
        return LearningCurve(losses, values, over)

    def is_good(self, index: int, count: int) -> bool:
        """Tell whether a trial is one of the best."""
        return isfinite(self.values[index]) and self.places[index] <= count

    def would_stay(self, index: int, value: float, count: int) -> bool:
        """Tell whether a trial would be one of the best if it had reached only this."""
        height = self._signed(value)
        others = (other for other in range(len(self.trials)) if other != index)
        return isfinite(value) and sum(self._height(other) > height for other in others) < count

    def _height(self, index: int) -> float:
        return self._signed(self.values[index])

    def _signed(self, value: float) -> float:
        """Return a value so that higher is better."""
        if not isfinite(value):
            return -inf
        return value if self.maximize else -value
