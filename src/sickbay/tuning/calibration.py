"""Finding thresholds that save the most time and lose no good trial, by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from math import inf

import numpy as np

from sickbay.arguments import check_callable, check_list
from sickbay.errors import UsageError
from sickbay.problems import Problem
from sickbay.tuning.board import Board, Effect, Mask, Tally, Track
from sickbay.tuning.finished_search import Search
from sickbay.tuning.threshold_settings import Line, adjacent, lines

FOLDS = 5  # that a single search is cut into
LEAST = 50  # trials in all
ROUNDS = 3  # in which every threshold may move
GAIN = 0.002  # of the time, that a change of a threshold must be worth
LOWER = 0.9  # of what a setting saves that loses good trials, for those that are tried after it
TRIES = 10  # at finding settings that also hold if all problems judge together

Choice = list[Problem | None]


@dataclass(frozen=True)
class Fold:
    """One part of the trials: judged as the profile is, and as calibrated on all others."""

    name: str
    trials: int
    before: Tally
    after: Tally
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class Calibration:
    """What calibrating is worth where it was not calibrated, and what it gives on everything.

    `held_out` is over all folds; `problems` are calibrated on all trials, and `after` is therefore
    too good to be true. `tried` are settings that were looked at for them.
    """

    folds: tuple[Fold, ...]
    before: Tally
    held_out: Tally
    after: Tally
    profile: tuple[Problem, ...]
    problems: tuple[Problem, ...]
    tried: tuple[Tally, ...] = field(repr=False)


def calibrate(
    searches: Sequence[Search],
    problems: Sequence[Problem],
    track: Track = lambda *_: lambda: None,
) -> Calibration:
    """Search the thresholds of some problems for the most time saved with no good trial lost.

    Good are the ten best of each search; of its best ten per cent, 2 % may be lost. Each of several
    searches is left out in turn; a single one is cut into five.
    """
    searches = check_list("searches", searches, Search, "searches")
    problems = check_list("problems", problems, Problem, "problems")
    check_callable("track", track)
    trials = sum(len(search.trials) for search in searches)
    if trials < LEAST or not problems:
        what = f"{trials} trials and {len(problems)} problems"
        raise UsageError(f"Calibrating needs at least {LEAST} trials and one problem, got {what}.")
    board = Board(searches, problems, track)
    parts, everything = _parts(board), np.ones(board.size, bool)
    final = _Chooser(board, problems, everything)
    chosen = [_Chooser(board, problems, ~part) for part in parts.values()]
    _choose([final, *chosen], board)
    panels = [problems, final.problems, *(each.problems for each in chosen)]
    own, last, *held = board.together(panels)
    joint = Effect.pieced(held, list(parts.values()))
    folds = (
        Fold(name, int(part.sum()), board.tally(own, part), board.tally(joint, part), each.problems)
        for (name, part), each in zip(parts.items(), chosen, strict=True)
    )
    before, held_out, after = (board.tally(each, everything) for each in (own, joint, last))
    profile, tried = tuple(problems), tuple(final.tried)
    return Calibration(tuple(folds), before, held_out, after, profile, final.problems, tried)


def _parts(board: Board) -> dict[str, Mask]:
    """Return the parts of all trials that are left out in turn."""
    if len(board.searches) > 1:
        return {
            f"{index + 1}: {search.name}": board.search == index
            for index, search in enumerate(board.searches)
        }
    # Every fifth trial: a search gets better as it goes on, and each part should have all of it.
    return {f"part {part + 1}": np.arange(board.size) % FOLDS == part for part in range(FOLDS)}


def _choose(choosers: Sequence[_Chooser], board: Board) -> None:
    """Let all choose, side by side, so that every setting is judged once."""
    waiting = list(choosers)
    for turn in count():
        strict = turn < TRIES  # then whatever is in doubt goes
        for _ in range(ROUNDS if strict else 0):
            board.learn(chain.from_iterable(chooser.options() for chooser in waiting))
            changed = [chooser.improve() for chooser in waiting]
            if not any(changed):
                break
        board.learn(chain.from_iterable(chooser.near() for chooser in waiting))
        told = zip(waiting, board.together([each.problems for each in waiting]), strict=True)
        waiting = [chooser for chooser, effect in told if not chooser.holds(effect, strict)]
        if not waiting:
            return


class _Chooser:
    """Chooses thresholds for some of the trials."""

    def __init__(self, board: Board, profile: Sequence[Problem], mask: Mask) -> None:
        self.tried: dict[Tally, None] = {}
        self._board, self._profile, self._mask = board, profile, mask
        self._choice: Choice = [None] * len(profile)
        self._barred: set[Problem] = set()
        self._ceilings: dict[str, float] = {}  # what a setting may save alone, by problem

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is chosen."""
        return tuple(problem for problem in self._choice if problem is not None)

    def options(self) -> list[Problem]:
        """Return every setting that may be chosen next."""
        return [each for slot in range(len(self._profile)) for each in self._options(slot)]

    def improve(self) -> bool:
        """Choose anew for one problem after the other; tell whether anything has changed."""
        before = self.problems
        for slot in range(len(self._choice)):
            self._choice[slot] = self._best(slot)
        return self.problems != before

    def near(self) -> list[Problem]:
        """Return the settings next to what is chosen."""
        pairs = zip(self._profile, self._choice, strict=True)
        return [each for own, now in pairs if now is not None for each in adjacent(own, now)]

    def holds(self, together: Effect, strict: bool) -> bool:
        """Tell whether the choice is safe if all judge together, and what is next to it alone.

        What is not safe is barred.
        """
        barred = set()
        if not self._board.tally(together, self._mask).is_safe:
            guilty = together.guilty(self._mask)
            barred |= {problem for problem in self.problems if problem.name() in guilty}
            # What ends even more would hardly do better.
            self._ceilings |= {each.name(): LOWER * self._alone(each) for each in barred}
        if strict:
            chosen = [(slot, each) for slot, each in enumerate(self._choice) if each is not None]
            barred |= {each for slot, each in chosen if self._on_edge(slot, each)}
        self._barred |= barred
        self._choice = [None if each in barred else each for each in self._choice]
        return not barred

    def _on_edge(self, slot: int, now: Problem) -> bool:
        own = self._profile[slot]
        return now != own and not all(self._try(slot, each).is_safe for each in adjacent(own, now))

    def _options(self, slot: int) -> list[Problem]:
        """Return the settings of one problem that may be chosen."""
        own, now = self._profile[slot], self._now(slot)
        return [now, own, *chain.from_iterable(line.settings for line in lines(own, now))]

    def _best(self, slot: int) -> Problem | None:
        """Return the setting that saves most; of those that save as much, the most usual."""
        own, now = self._profile[slot], self._now(slot)
        sound = [each for each in (now, own) if self._try(slot, each).is_safe]
        inner = chain.from_iterable(self._inner(slot, line) for line in lines(own, now))
        sound += [each for _, each in sorted(inner, key=lambda pair: pair[0])]
        best, most = None, 0.0
        for each in sound:
            saved = self._try(slot, each).saved
            if self._is_allowed(each) and (best is None or saved > most + GAIN):
                best, most = each, saved
        return best

    def _is_allowed(self, problem: Problem) -> bool:
        ceiling = self._ceilings.get(problem.name(), inf)
        return problem not in self._barred and self._alone(problem) <= ceiling

    def _alone(self, problem: Problem) -> float:
        """Return what a setting saves alone."""
        return self._board.tally(self._board.alone([problem]), self._mask).saved

    def _inner(self, slot: int, line: Line) -> list[tuple[int, Problem]]:
        """Return the settings that are safe as those next to them are, and how unusual they are."""
        safe = [self._try(slot, each).is_safe for each in line.settings]
        return [
            (abs(place - line.own), each)
            for place, each in enumerate(line.settings)
            if all(safe[max(0, place - 1) : place + 2])
        ]

    def _now(self, slot: int) -> Problem:
        return self._choice[slot] or self._profile[slot]

    def _try(self, slot: int, problem: Problem) -> Tally:
        choice = [*self._choice[:slot], problem, *self._choice[slot + 1 :]]
        chosen = [each for each in choice if each is not None]
        tally = self._board.tally(self._board.alone(chosen), self._mask)
        self.tried[tally] = None
        return tally
