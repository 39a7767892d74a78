"""The effect of threshold settings on the trials of several searches, for calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sickbay.problems import Problem
from sickbay.problems.trials.comparison import LearningCurve
from sickbay.tuning.recorded_search import TOP_TEN, RecordedSearch
from sickbay.tuning.replay import EndedTrial, curves_after, judge_search, judge_trial

# Called with a label and a number of trials; returns what to call after each trial.
Track: TypeAlias = Callable[[str, int], Callable[[], object]]
Mask: TypeAlias = NDArray[np.bool_]
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


@dataclass(frozen=True)
class Effect:
    """For each trial: when it is ended and by which problem, what that saves and loses."""

    epoch: NDArray[np.int64]
    saved: NDArray[np.float64]
    ten: Mask
    tenth: Mask
    problem: NDArray[np.str_]

    @classmethod
    def of(cls, size: int, ended: Iterable[tuple[int, EndedTrial]]) -> Effect:
        """Make the effect on `size` trials from those that are ended, by position."""
        never, unsaved, problem = np.full(size, NEVER), np.zeros(size), np.full(size, "", "U64")
        effect = cls(never, unsaved, np.zeros(size, bool), np.zeros(size, bool), problem)
        for index, end in ended:
            effect.epoch[index], effect.saved[index] = end.epoch, end.seconds_saved
            effect.ten[index], effect.tenth[index] = end.lost_of_ten, end.lost_of_best_ten_per_cent
            effect.problem[index] = end.finding.problem
        return effect

    @classmethod
    def earliest(cls, effects: Sequence[Effect]) -> Effect:
        """Combine effects: each trial is ended by whichever ends it first."""
        return cls._choose(effects, np.stack([each.epoch for each in effects]).argmin(0))

    @classmethod
    def by_part(cls, effects: Sequence[Effect], parts: Sequence[Mask]) -> Effect:
        """Take each trial's effect from the part that the trial is in."""
        return cls._choose(effects, np.stack(parts).argmax(0))

    @classmethod
    def _choose(cls, effects: Sequence[Effect], which: NDArray[np.int64]) -> Effect:
        columns = zip(*(vars(effect).values() for effect in effects), strict=True)
        return cls(*(np.stack(each)[which, np.arange(len(which))] for each in columns))

    def losing_problems(self, mask: Mask) -> set[str]:
        """Return the problems that lose good trials."""
        return {str(name) for name in self.problem[mask & (self.ten | self.tenth)]}


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
            ended = [
                judge_alone(search, new, curves, tick)
                for search, curves in zip(self.searches, self._curves, strict=True)
            ]
            self._known |= zip(new, self._effects(ended), strict=True)

    def estimate(self, problems: Sequence[Problem]) -> Effect:
        """Estimate the effect of several problems from the effect of each alone."""
        if not problems:
            return Effect.of(self.size, ())
        return Effect.earliest([self._known[problem] for problem in problems])

    def together(self, panels: Sequence[Sequence[Problem]]) -> list[Effect]:
        """Return the effect of each list of problems, judging together."""
        return self._effects(self._judge_together(panels))

    def tally(self, effect: Effect, mask: Mask) -> Tally:
        """Sum up an effect over the trials in `mask`. Every search has the same weight."""
        saved = [
            effect.saved[part].sum() / (self._seconds[part].sum() or 1.0)
            for index in range(len(self.searches))
            if (part := mask & (self.search == index)).any()
        ]
        ten, tenth = (
            (int((mask & lost).sum()), int((mask & good).sum()))
            for lost, good in ((effect.ten, self._ten), (effect.tenth, self._tenth))
        )
        return Tally(float(np.mean(saved)), *ten, *tenth)

    def _judge_together(
        self, panels: Sequence[Sequence[Problem]]
    ) -> list[list[tuple[EndedTrial, ...]]]:
        tick = self._track(f"{len(panels)} choices", self.size)
        return [judge_search(search, panels, tick) for search in self.searches]

    def _effects(self, ended: Sequence[Sequence[tuple[EndedTrial, ...]]]) -> list[Effect]:
        """Turn the trials ended in each search into one effect for each judge."""
        effects = []
        for by_search in zip(*ended, strict=True):
            starts = zip(self._starts, by_search, strict=False)
            numbered = ((start + end.index, end) for start, ends in starts for end in ends)
            effects.append(Effect.of(self.size, numbered))
        return effects


def judge_alone(
    search: RecordedSearch,
    problems: Sequence[Problem],
    curves: Sequence[LearningCurve],
    tick: Callable[[], object] = lambda: None,
) -> list[tuple[EndedTrial, ...]]:
    """Return the trials that each problem alone would have ended, beside the given curves."""
    panels = [[problem] for problem in problems]
    ended: list[list[EndedTrial]] = [[] for _ in problems]
    for index in range(len(search.trials)):
        others = [curves[:index]] * len(panels)
        for number, end in judge_trial(search, index, panels, others).items():
            ended[number].append(end)
        tick()
    return [tuple(each) for each in ended]
