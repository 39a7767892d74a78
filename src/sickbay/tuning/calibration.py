"""Calibration: thresholds that save the most time without losing good trials, cross-validated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, count
from math import inf
from typing import Any

import numpy as np

from sickbay.arguments import check_callable, check_list
from sickbay.errors import UsageError
from sickbay.problems import Problem
from sickbay.tuning.recorded_search import RecordedSearch
from sickbay.tuning.setting_effects import Effect, Mask, SettingEffects, Tally, Track, pick
from sickbay.tuning.threshold_settings import Line, adjacent, changes, lines

FOLDS = 5  # of a single search
MIN_TRIALS = 50
ROUNDS = 3  # in which every threshold may move
MIN_GAIN = 0.002  # of the time, for a threshold to be changed
BACKOFF = 0.9  # of what an unsafe setting saves: the most that the settings tried next may save
TRIES = 10  # to find settings that are safe together too


@dataclass(frozen=True)
class Fold:
    """One part of the trials: with the profile, and with thresholds calibrated on the others."""

    left_out: str
    trials: int
    before: Tally
    after: Tally
    settings: list[str]  # that turn the profile into the calibrated problems


@dataclass(frozen=True)
class Calibration:
    """The calibrated problems, and what calibrating is worth on trials it was not done on.

    `before` is the effect of the profile, `held_out` that on all folds, each calibrated on the
    others. `after` is optimistic, because `problems` were chosen on all trials.
    """

    folds: tuple[Fold, ...]
    before: Tally
    held_out: Tally
    after: Tally
    settings: list[str]  # that turn the profile into `problems`
    problems: tuple[Problem, ...]
    tried: tuple[Tally, ...] = field(repr=False)  # settings that were considered

    def to_json(self) -> dict[str, Any]:
        values = asdict(replace(self, problems=(), tried=()))
        return {name: value for name, value in values.items() if name not in ("problems", "tried")}


def calibrate(
    searches: Sequence[RecordedSearch],
    problems: Sequence[Problem],
    track: Track = lambda *_: lambda: None,
) -> Calibration:
    """Search for the thresholds that save the most time without losing good trials.

    None of the ten best trials of a search may be lost, and at most 2 % of its best ten per cent.
    With several searches, each is held out in turn; a single one is split into five folds.
    """
    searches = check_list("searches", searches, RecordedSearch, "searches")
    problems = check_list("problems", problems, Problem, "problems")
    check_callable("track", track)
    trials = sum(len(search.trials) for search in searches)
    if trials < MIN_TRIALS or not problems:
        raise UsageError(
            f"Calibration needs at least {MIN_TRIALS} trials and one problem, "
            f"got {trials} trials and {len(problems)} problems."
        )
    effects = SettingEffects(searches, problems, track)
    parts, everything = _parts(effects), np.ones(effects.size, bool)
    final = _Chooser(effects, problems, everything)
    choosers = [_Chooser(effects, problems, ~part) for part in parts.values()]
    _choose([final, *choosers], effects)
    panels = [problems, final.problems, *(each.problems for each in choosers)]
    own, last, *by_fold = effects.together(panels)
    joint = pick(by_fold, np.stack(list(parts.values())).argmax(0))
    folds = []
    for (name, part), chooser in zip(parts.items(), choosers, strict=True):
        before, after = effects.tally(own, part), effects.tally(joint, part)
        settings = changes(problems, chooser.problems)
        folds.append(Fold(name, int(part.sum()), before, after, settings))
    return Calibration(
        folds=tuple(folds),
        before=effects.tally(own, everything),
        held_out=effects.tally(joint, everything),
        after=effects.tally(last, everything),
        settings=changes(problems, final.problems),
        problems=final.problems,
        tried=tuple(final.tried),
    )


def _parts(effects: SettingEffects) -> dict[str, Mask]:
    """Return the parts of the trials that are held out in turn."""
    if len(effects.searches) > 1:
        return {
            f"{index + 1}: {search.name}": effects.search == index
            for index, search in enumerate(effects.searches)
        }
    # Every fifth trial: a search improves as it goes on, and each part should cover all of it.
    return {f"part {part + 1}": np.arange(effects.size) % FOLDS == part for part in range(FOLDS)}


def _choose(choosers: Sequence[_Chooser], effects: SettingEffects) -> None:
    """Run all choosers side by side, so that every setting is judged only once."""
    waiting = list(choosers)
    for turn in count():
        strict = turn < TRIES  # after that, whatever is in doubt is dropped
        for _ in range(ROUNDS if strict else 0):
            effects.learn(chain.from_iterable(chooser.options() for chooser in waiting))
            changed = [chooser.improve() for chooser in waiting]
            if not any(changed):
                break
        effects.learn(chain.from_iterable(chooser.neighbours() for chooser in waiting))
        together = effects.together([each.problems for each in waiting])
        judged = zip(waiting, together, strict=True)
        waiting = [chooser for chooser, effect in judged if not chooser.accepts(effect, strict)]
        if not waiting:
            return


class _Chooser:
    """Chooses thresholds by some of the trials."""

    def __init__(self, effects: SettingEffects, profile: Sequence[Problem], mask: Mask) -> None:
        self.tried: dict[Tally, None] = {}
        self._effects, self._profile, self._mask = effects, profile, mask
        self._chosen: list[Problem | None] = [None] * len(profile)
        self._banned: set[Problem] = set()
        self._max_saved: dict[str, float] = {}  # what a setting may save alone, by problem

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems that are on, with the chosen thresholds."""
        return tuple(problem for problem in self._chosen if problem is not None)

    def options(self) -> list[Problem]:
        """Return every setting that may be chosen next."""
        options = []
        for slot, own in enumerate(self._profile):
            now = self._now(slot)
            options += [now, own]
            options += chain.from_iterable(line.settings for line in lines(own, now))
        return options

    def improve(self) -> bool:
        """Choose again for one problem after the other. Return whether anything has changed."""
        before = self.problems
        for slot in range(len(self._chosen)):
            self._chosen[slot] = self._best(slot)
        return self.problems != before

    def neighbours(self) -> list[Problem]:
        """Return the settings next to the chosen ones."""
        pairs = zip(self._profile, self._chosen, strict=True)
        return [each for own, now in pairs if now is not None for each in adjacent(own, now)]

    def accepts(self, together: Effect, strict: bool) -> bool:
        """Return whether the chosen settings are safe together; ban those that are not.

        If `strict`, the neighbours of every setting must be safe as well.
        """
        banned = set()
        if not self._effects.tally(together, self._mask).is_safe:
            losing = together["problem"][self._mask & (together["ten"] | together["tenth"])]
            banned |= {problem for problem in self.problems if problem.name() in losing}
            # Settings that end even more trials would hardly do better.
            self._max_saved |= {each.name(): BACKOFF * self._saved_alone(each) for each in banned}
        if strict:
            chosen = [(slot, each) for slot, each in enumerate(self._chosen) if each is not None]
            banned |= {each for slot, each in chosen if self._is_on_edge(slot, each)}
        self._banned |= banned
        self._chosen = [None if each in banned else each for each in self._chosen]
        return not banned

    def _is_on_edge(self, slot: int, now: Problem) -> bool:
        own = self._profile[slot]
        return now != own and not all(self._try(slot, each).is_safe for each in adjacent(own, now))

    def _best(self, slot: int) -> Problem | None:
        """Return the safe setting that saves most; of equal ones, that nearest to the profile."""
        own, now = self._profile[slot], self._now(slot)
        safe = [each for each in (now, own) if self._try(slot, each).is_safe]
        inner = chain.from_iterable(self._inner(slot, line) for line in lines(own, now))
        safe += [each for _, each in sorted(inner, key=lambda pair: pair[0])]
        best, most = None, 0.0
        for each in safe:
            saved = self._try(slot, each).saved
            if self._is_allowed(each) and (best is None or saved > most + MIN_GAIN):
                best, most = each, saved
        return best

    def _is_allowed(self, problem: Problem) -> bool:
        most = self._max_saved.get(problem.name(), inf)
        return problem not in self._banned and self._saved_alone(problem) <= most

    def _saved_alone(self, problem: Problem) -> float:
        return self._effects.tally(self._effects.estimate([problem]), self._mask).saved

    def _inner(self, slot: int, line: Line) -> list[tuple[int, Problem]]:
        """Return the settings whose neighbours are safe too, with their distance to the profile."""
        safe = [self._try(slot, each).is_safe for each in line.settings]
        return [
            (abs(place - line.own), each)
            for place, each in enumerate(line.settings)
            if all(safe[max(0, place - 1) : place + 2])
        ]

    def _now(self, slot: int) -> Problem:
        return self._chosen[slot] or self._profile[slot]

    def _try(self, slot: int, problem: Problem) -> Tally:
        settings = [*self._chosen[:slot], problem, *self._chosen[slot + 1 :]]
        effect = self._effects.estimate([each for each in settings if each is not None])
        tally = self._effects.tally(effect, self._mask)
        self.tried[tally] = None
        return tally
