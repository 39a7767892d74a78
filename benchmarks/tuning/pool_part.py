"""One part of a pool as arrays, on which searches are simulated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.tuning.pool import Pool
from benchmarks.tuning.search_spaces import SPACES, Config, Space, place
from benchmarks.tuning.tasks import TASKS
from sickbay.tuning.recorded_search import RecordedTrial

Array: TypeAlias = NDArray[np.float64]
Which: TypeAlias = Literal["calibration", "reporting"]
CALIBRATED = range(250)  # seeds of the trials for choosing thresholds


@dataclass(frozen=True)
class Part:
    """Recorded trials of a task, identified by their position.

    Scores are values of the metric with the sign that makes higher better; what is not finite is
    minus infinity.
    """

    task: str
    trials: tuple[RecordedTrial, ...]

    @classmethod
    def of(cls, pool: Pool, which: Which) -> Part:
        """Return the trials to calibrate by, or the others, to report on."""
        wanted = which == "calibration"
        chosen = [each for each in pool.trials if (each.about["seed"] in CALIBRATED) == wanted]
        if not chosen:
            given = f"{len(pool.trials)} trials, none of them for the {which} part"
            raise SystemExit(f"The pool of {pool.task} has {given}: seeds below 250 calibrate.")
        return cls(pool.task, tuple(chosen))

    @property
    def space(self) -> Space:
        return SPACES[self.task]

    @property
    def metric(self) -> str:
        return TASKS[self.task].metric

    @property
    def sign(self) -> int:
        return 1 if TASKS[self.task].maximize else -1

    @cached_property
    def configs(self) -> list[Config]:
        return [each.about["config"] for each in self.trials]

    @cached_property
    def points(self) -> Array:
        """Where each configuration lies, so that the nearest can be told."""
        return np.array([place(self.space, each) for each in self.configs])

    @cached_property
    def scores(self) -> Array:
        """The score of each trial after each epoch."""
        values = [[epoch.scalars[self.metric] for epoch in each.epochs] for each in self.trials]
        scores = self.sign * np.array(values, float)
        return np.where(np.isfinite(scores), scores, -np.inf)

    @cached_property
    def best(self) -> Array:
        """The best score of each trial so far, after each epoch."""
        best: Array = np.maximum.accumulate(self.scores, axis=1)
        return best

    @cached_property
    def pace(self) -> Array:
        """Seconds that an epoch of each trial takes: the median, as single ones were disturbed."""
        return np.array([np.median([e.seconds for e in each.epochs]) for each in self.trials])

    @cached_property
    def good(self) -> frozenset[int]:
        """The trials that are among the best ten per cent if they are left alone."""
        return frozenset(np.flatnonzero(self.best[:, -1] >= self.bar).tolist())

    @cached_property
    def bar(self) -> float:
        """The least score of the best ten per cent."""
        count = max(1, round(len(self.trials) / 10))
        return float(np.sort(self.best[:, -1])[-count])

    def budget(self, trials: float | None = None) -> float:
        """Return the time of so many whole trials of average length.

        By default it is an eighth of them, ten at least: in more time, searches find the same best
        ones of the few that there are, and are hardly to be told apart.
        """
        whole = max(10.0, len(self.trials) / 8) if trials is None else trials
        return float(whole * self.pace.mean() * self.scores.shape[1])
