"""An attempt in training, wherever that is: in this process, or over since an earlier run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from torch import Tensor

from sickbay.recipe import Recipe
from sickbay.repairs.data import Data
from sickbay.repairs.report import Report
from sickbay.repairs.training import Terms, Training

Weights: TypeAlias = dict[str, Tensor]
Tick: TypeAlias = Callable[[Report], object]  # called after each epoch


@dataclass(frozen=True)
class Job:
    """What a training needs to begin."""

    recipe: Recipe
    data: Data | None  # None where the loop is the user's
    terms: Terms
    start: Weights | None = None
    chart: str | None = None

    def begin(self) -> Training:
        assert self.data is not None  # a loop of one's own is not begun here
        return Training(self.recipe, self.data, self.terms, self.start, self.chart)


class Trainee(ABC):
    """An attempt in training somewhere; `advance` asks, `report` waits for the answer."""

    @abstractmethod
    def advance(self, epochs: int, heed: bool = True) -> None:
        """Ask for some more epochs."""

    @abstractmethod
    def report(self) -> Report:
        """Wait for what was asked, and return where it stands."""

    @abstractmethod
    def weights(self) -> tuple[Weights, Weights]:
        """Return the best weights, and the last healthy ones."""

    @abstractmethod
    def close(self) -> None:
        """Stop it."""


class Here(Trainee):
    """An attempt in this process."""

    def __init__(self, job: Job, tick: Tick) -> None:
        self.training, self._tick = job.begin(), tick
        self._asked: list[tuple[int, bool]] = []

    def advance(self, epochs: int, heed: bool = True) -> None:
        self._asked.append((epochs, heed))

    def report(self) -> Report:
        for epochs, heed in self._asked:
            for report in self.training.each_epoch(epochs, heed):
                self._tick(report)
        self._asked.clear()
        return self.training.report()

    def weights(self) -> tuple[Weights, Weights]:
        return self.training.best, self.training.healthy

    def close(self) -> None:
        self.training.close()


class Remembered(Trainee):
    """An attempt that was over in an earlier run; it reports, heat by heat, what it did then."""

    def __init__(self, reports: Sequence[Report], best: Weights, healthy: Weights) -> None:
        self._reports, self._weights = reports, (best, healthy)
        self._heat = -1

    def advance(self, epochs: int, heed: bool = True) -> None:  # noqa: ARG002 - as it was then
        self._heat = min(self._heat + 1, len(self._reports) - 1)

    def report(self) -> Report:
        return self._reports[self._heat]

    def weights(self) -> tuple[Weights, Weights]:
        return self._weights

    def let_go(self) -> None:
        """Give up the weights."""
        self._weights = {}, {}

    def close(self) -> None: ...
