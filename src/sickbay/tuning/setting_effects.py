"""The effect of threshold settings on the trials of several searches, for calibration."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sickbay.problems import Problem
from sickbay.tuning.recorded_search import TOP_TEN, RecordedSearch
from sickbay.tuning.replay import EndedTrial, curves_after, judge_search

# Called with a label and a number of trials; returns what to call after each trial.
Track: TypeAlias = Callable[[str, int], Callable[[], object]]
Mask: TypeAlias = NDArray[np.bool_]
# A row for each trial: when it is ended and by which problem, what that saves and loses.
Effect: TypeAlias = NDArray[np.void]
EFFECT = np.dtype(
    [("epoch", "i8"), ("saved", "f8"), ("ten", "?"), ("tenth", "?"), ("problem", "O")]
)
NEVER = np.iinfo(np.int64).max  # the epoch of trials that are not ended
MAX_LOST = 0.02  # of the best ten per cent


@dataclass(frozen=True)
class Tally:
    """The fraction of time saved, and how many of the good trials are lost."""

    saved: float
    lost_of_ten: int
    ten: int
    lost_of_best_ten_per_cent: int
    best_ten_per_cent: int

    @property
    def is_safe(self) -> bool:
        """Whether none of the ten best is lost, and at most 2 % of the best ten per cent."""
        most = MAX_LOST * self.best_ten_per_cent
        return not self.lost_of_ten and self.lost_of_best_ten_per_cent <= most


class SettingEffects:
    """The effects of settings on all trials of some searches. Each setting is judged once."""

    def __init__(
        self, searches: Sequence[RecordedSearch], profile: Sequence[Problem], track: Track
    ) -> None:
        self.searches, self._track = searches, track
        sizes = [len(search.trials) for search in searches]
        self.size = sum(sizes)
        self.search = np.repeat(np.arange(len(searches)), sizes)
        self._starts = np.cumsum([0, *sizes]).tolist()
        trials = [(search, index) for search in searches for index in range(len(search.trials))]
        self._seconds = np.array([search.trials[index].seconds for search, index in trials])
        self._ten = np.array([search.is_among_best(index, TOP_TEN) for search, index in trials])
        self._tenth = np.array(
            [each.is_among_best(index, each.top_tenth) for each, index in trials]
        )
        self._known: dict[Problem, Effect] = {}
        judged = zip(searches, self._judge_together([profile]), strict=True)
        self._curves = [curves_after(search, ended) for search, (ended,) in judged]

    def learn(self, problems: Iterable[Problem]) -> None:
        """Judge every search by each new problem alone.

        The other trials are as far as the profile lets them get.
        """
        new = [each for each in dict.fromkeys(problems) if each not in self._known]
        if new:
            tick = self._track(f"{len(new)} settings", self.size)
            panels = [[problem] for problem in new]
            ended = [
                judge_search(search, panels, tick, beside=curves)
                for search, curves in zip(self.searches, self._curves, strict=True)
            ]
            self._known |= zip(new, self._effects(ended), strict=True)

    def estimate(self, problems: Sequence[Problem]) -> Effect:
        """Estimate the effect of several problems from the effect of each alone."""
        if not problems:
            return self._effect(())
        known = [self._known[problem] for problem in problems]
        return pick(known, np.stack(known)["epoch"].argmin(0))

    def together(self, panels: Sequence[Sequence[Problem]]) -> list[Effect]:
        """Return the effect of each list of problems, judging together."""
        return self._effects(self._judge_together(panels))

    def tally(self, effect: Effect, mask: Mask) -> Tally:
        """Sum up an effect over the trials in `mask`. Every search has the same weight."""
        saved = [
            effect["saved"][part].sum() / (self._seconds[part].sum() or 1.0)
            for index in range(len(self.searches))
            if (part := mask & (self.search == index)).any()
        ]
        ten, tenth = (
            (int((mask & lost).sum()), int((mask & good).sum()))
            for lost, good in ((effect["ten"], self._ten), (effect["tenth"], self._tenth))
        )
        return Tally(float(np.mean(saved)), *ten, *tenth)

    def _judge_together(
        self, panels: Sequence[Sequence[Problem]]
    ) -> list[list[tuple[EndedTrial, ...]]]:
        tick = self._track(f"{len(panels)} choices", self.size)
        return [judge_search(search, panels, tick) for search in self.searches]

    def _effects(self, ended: Sequence[Sequence[tuple[EndedTrial, ...]]]) -> list[Effect]:
        """Turn the trials ended in each search into one effect for each judge."""
        return [self._effect(by_search) for by_search in zip(*ended, strict=True)]

    def _effect(self, ended: Sequence[tuple[EndedTrial, ...]]) -> Effect:
        effect = np.zeros(self.size, EFFECT)
        effect["epoch"], effect["problem"] = NEVER, ""
        for start, ends in zip(self._starts, ended, strict=False):
            for end in ends:
                lost = end.lost_of_ten, end.lost_of_best_ten_per_cent
                row = end.epoch, end.seconds_saved, *lost, end.finding.problem
                effect[start + end.index] = row
        return effect


def pick(effects: Sequence[Effect], which: NDArray[np.int64]) -> Effect:
    """Return an effect with each trial's row from one of several effects."""
    effect: Effect = np.stack(effects)[which, np.arange(len(which))]
    return effect
