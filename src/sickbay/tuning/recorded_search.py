"""A finished search: its recorded trials, their ranking, and which of them are good."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, isfinite, nan
from typing import Any

from sickbay.arguments import check_bool, check_choice, check_list, check_text
from sickbay.history import History
from sickbay.problems.trials.comparison import LearningCurve
from sickbay.vitals import Setup, Table, Vitals

TOP_TEN = 10
DEFAULT_METRIC = "val_accuracy"  # of every `watch`
DIRECTIONS = {"maximize": True, "minimize": False}


def is_maximized(direction: object) -> bool:
    """Return whether larger values are better, given "maximize" or "minimize"."""
    return DIRECTIONS[check_choice("direction", direction, DIRECTIONS)]


@dataclass(frozen=True)
class Epoch:
    """The measurements of one epoch: scalars such as metrics, tables, and its duration."""

    scalars: Mapping[str, float]
    tables: Sequence[Table] = ()
    seconds: float = 1.0


@dataclass(frozen=True)
class RecordedTrial:
    """A trial that can be judged again, epoch by epoch.

    `first` holds the scalars of the first step, `steps` the number of steps per epoch; the latter
    only matters for epochs without tables.

    >>> trial = RecordedTrial("3", Setup(epochs=2), [Epoch({"loss": 0.9}), Epoch({"loss": 0.5})])
    >>> [history.epochs("loss") for history in trial.histories()]
    [[0.9], [0.9, 0.5]]
    """

    name: str
    setup: Setup
    epochs: Sequence[Epoch]
    about: Mapping[str, Any] = field(default_factory=dict)
    first: Mapping[str, float] = field(default_factory=dict)
    steps: int = 1

    @property
    def seconds(self) -> float:
        """How long the trial took."""
        return sum(epoch.seconds for epoch in self.epochs)

    def histories(self) -> Iterator[History]:
        """Yield the trial's history after each epoch. It is always the same object."""
        history = History(self.setup)
        if self.first:
            history.append(Vitals(0, scalars=self.first))
        for number, epoch in enumerate(self.epochs):
            steps = {table.step for table in epoch.tables} or {(number + 1) * self.steps - 1}
            for step in sorted(steps):
                tables = [table for table in epoch.tables if table.step == step]
                history.append(Vitals(step, number, tables=tables))
            history.end_epoch(**epoch.scalars)
            yield history

    def judged_epochs(self) -> Iterator[tuple[int, History]]:
        """Yield (epochs done, history) for every epoch but the last planned one.

        Ending a trial in its last epoch saves nothing, so that epoch is never judged.
        """
        last = self.setup.epochs or len(self.epochs)
        for done, history in enumerate(self.histories(), 1):
            if done >= last:
                return
            yield done, history


@dataclass(frozen=True)
class RecordedSearch:
    """Trials in the order they started, and the metric they are compared by.

    The value of a trial is the best finite value of any of its epochs.

    >>> curves = {"a": [0.2, 0.5], "b": [0.9, 0.7], "c": [0.1, nan]}
    >>> trials = [
    ...     RecordedTrial(name, Setup(), [Epoch({"val_accuracy": value}) for value in values])
    ...     for name, values in curves.items()
    ... ]
    >>> search = RecordedSearch("three", trials, "val_accuracy", maximize=True)
    >>> search.values, search.ranks
    ([0.5, 0.9, 0.1], [2, 1, 3])
    """

    name: str
    trials: Sequence[RecordedTrial]
    metric: str
    maximize: bool

    def __post_init__(self) -> None:
        check_list("trials", self.trials, RecordedTrial, "recorded trials")
        check_text("metric", self.metric)
        check_bool("maximize", self.maximize)

    @cached_property
    def values(self) -> list[float]:
        """The value of each trial; NaN if it has no finite one."""
        return [self.best_value(trial, len(trial.epochs)) for trial in self.trials]

    @cached_property
    def ranks(self) -> list[int]:
        """The rank of each trial, 1 for the best. Of equal trials the earlier one comes first."""
        best_first = sorted(range(len(self._scores)), key=lambda index: -self._scores[index])
        ranks = {index: rank for rank, index in enumerate(best_first, 1)}
        return [ranks[index] for index in range(len(ranks))]

    @property
    def seconds(self) -> float:
        """How long all trials took."""
        return sum(epoch.seconds for trial in self.trials for epoch in trial.epochs)

    @property
    def top_tenth(self) -> int:
        """The number of trials in the best ten per cent, at least one."""
        return max(1, len(self.trials) // 10)

    def best_value(self, trial: RecordedTrial, epochs: int) -> float:
        """Return the best finite value of a trial's first epochs, NaN if there is none."""
        values = filter(isfinite, self.learning_curve(trial, epochs).values)
        return (max if self.maximize else min)(values, default=nan)

    def learning_curve(self, trial: RecordedTrial, epochs: int, over: bool = True) -> LearningCurve:
        """Return the first epochs of a trial as the other trials see it."""
        scalars = [epoch.scalars for epoch in trial.epochs[:epochs]]
        losses = [each["loss"] for each in scalars if "loss" in each]
        values = [each[self.metric] for each in scalars if self.metric in each]
        return LearningCurve(losses, values, over)

    def is_among_best(self, index: int, count: int) -> bool:
        """Return whether a trial is one of the `count` best."""
        return isfinite(self.values[index]) and self.ranks[index] <= count

    def would_stay_among_best(self, index: int, value: float, count: int) -> bool:
        """Return whether a trial would be one of the `count` best with this value."""
        others = self._scores[:index] + self._scores[index + 1 :]
        return isfinite(value) and sum(each > self._score(value) for each in others) < count

    @cached_property
    def _scores(self) -> list[float]:
        return [self._score(value) for value in self.values]

    def _score(self, value: float) -> float:
        """Return the value with the sign that makes higher better."""
        if not isfinite(value):
            return -inf
        return value if self.maximize else -value
