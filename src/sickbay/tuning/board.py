"""All trials of some searches in a row, and what problems would have done to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sickbay.problems import Problem
from sickbay.tuning.finished_search import TEN, Search
from sickbay.tuning.replay import Ended, left_by, walk
from sickbay.tuning.try_settings import try_alone

# Told what begins and how many trials that takes, it returns what is called after each.
Track: TypeAlias = Callable[[str, int], Callable[[], object]]
Mask: TypeAlias = NDArray[np.bool_]
NEVER = np.iinfo(np.int64).max  # the epoch of what is not ended
MAY_BE_LOST = 0.02  # of the best ten per cent


@dataclass(frozen=True)
class Tally:
    """Time saved, as a share, and how many of the good trials are lost."""

    saved: float
    lost_of_ten: int
    ten: int
    lost_of_tenth: int
    tenth: int

    @property
    def is_safe(self) -> bool:
        """Whether none of the ten best is lost, and at most 2 % of the best ten per cent."""
        return not self.lost_of_ten and self.lost_of_tenth <= MAY_BE_LOST * self.tenth


@dataclass(frozen=True)
class Effect:
    """What would have been done to each trial: when it is ended, what that saves, and loses."""

    epoch: NDArray[np.int64]
    saved: NDArray[np.float64]
    ten: Mask
    tenth: Mask
    problem: NDArray[np.str_]

    @classmethod
    def of(cls, size: int, ended: Iterable[tuple[int, Ended]]) -> Effect:
        """Make one of the trials that are ended, by number."""
        effect = cls(
            np.full(size, NEVER),
            np.zeros(size),
            np.zeros(size, bool),
            np.zeros(size, bool),
            np.full(size, "", "U64"),
        )
        for index, end in ended:
            effect.epoch[index], effect.saved[index] = end.epoch, end.saved
            effect.ten[index], effect.tenth[index] = end.lost_of_ten, end.lost_of_tenth
            effect.problem[index] = end.finding.problem
        return effect

    @classmethod
    def earliest(cls, effects: Sequence[Effect]) -> Effect:
        """Return the effect of several together, if none hinders another."""
        return cls._picked(effects, np.stack([each.epoch for each in effects]).argmin(0))

    @classmethod
    def pieced(cls, effects: Sequence[Effect], parts: Sequence[Mask]) -> Effect:
        """Return for each trial the effect that goes with its part."""
        return cls._picked(effects, np.stack(parts).argmax(0))

    @classmethod
    def _picked(cls, effects: Sequence[Effect], which: NDArray[np.int64]) -> Effect:
        columns = zip(*(vars(effect).values() for effect in effects), strict=True)
        return cls(*(np.stack(each)[which, np.arange(len(which))] for each in columns))

    def guilty(self, mask: Mask) -> set[str]:
        """Return the problems that lose good trials."""
        return {str(name) for name in self.problem[mask & (self.ten | self.tenth)]}


class Board:
    """The trials of some searches, in a row; a setting of a problem is judged once."""

    def __init__(
        self, searches: Sequence[Search], profile: Sequence[Problem], track: Track
    ) -> None:
        self.searches, self._track = searches, track
        sizes = [len(search.trials) for search in searches]
        self.size = sum(sizes)
        self.search = np.repeat(np.arange(len(searches)), sizes)
        self._starts = np.cumsum([0, *sizes]).tolist()
        self._seconds = np.array(
            [
                sum(epoch.seconds for epoch in trial.epochs)
                for each in searches
                for trial in each.trials
            ]
        )
        self._ten = self._good(lambda _: TEN)
        self._tenth = self._good(lambda search: search.tenth)
        self._known: dict[Problem, Effect] = {}
        told = zip(searches, self._walk([profile]), strict=True)
        self._courses = [left_by(search, ended) for search, (ended,) in told]

    def learn(self, problems: Iterable[Problem]) -> None:
        """Judge every search by each of the problems alone, unless that is known.

        The other trials are as far as the profile lets them get.
        """
        new = [each for each in dict.fromkeys(problems) if each not in self._known]
        if new:
            tick = self._track(f"{len(new)} settings", self.size)
            told = [
                try_alone(search, new, courses, tick)
                for search, courses in zip(self.searches, self._courses, strict=True)
            ]
            self._known |= zip(new, self._effects(told), strict=True)

    def alone(self, problems: Sequence[Problem]) -> Effect:
        """Return what several problems do, as far as it can be told from each alone."""
        if not problems:
            return Effect.of(self.size, ())
        return Effect.earliest([self._known[problem] for problem in problems])

    def together(self, panels: Sequence[Sequence[Problem]]) -> list[Effect]:
        """Return what each list of problems does that judge together."""
        return self._effects(self._walk(panels))

    def tally(self, effect: Effect, mask: Mask) -> Tally:
        """Return what an effect is to some of the trials; every search counts the same."""
        shares = [
            effect.saved[part].sum() / (self._seconds[part].sum() or 1.0)
            for index in range(len(self.searches))
            if (part := mask & (self.search == index)).any()
        ]
        lost = [
            (int((mask & lost).sum()), int((mask & good).sum()))
            for lost, good in ((effect.ten, self._ten), (effect.tenth, self._tenth))
        ]
        return Tally(float(np.mean(shares)), *lost[0], *lost[1])

    def _walk(self, panels: Sequence[Sequence[Problem]]) -> list[list[tuple[Ended, ...]]]:
        tick = self._track(f"{len(panels)} choices", self.size)
        return [walk(search, panels, tick) for search in self.searches]

    def _effects(self, told: Sequence[Sequence[tuple[Ended, ...]]]) -> list[Effect]:
        """Return an effect for each of the judges, from what they have ended in each search."""
        effects = []
        for ended in zip(*told, strict=True):
            starts = zip(self._starts, ended, strict=False)
            numbered = ((start + end.index, end) for start, ends in starts for end in ends)
            effects.append(Effect.of(self.size, numbered))
        return effects

    def _good(self, count: Callable[[Search], int]) -> Mask:
        return np.array(
            [
                search.is_good(index, count(search))
                for search in self.searches
                for index in range(len(search.trials))
            ]
        )
