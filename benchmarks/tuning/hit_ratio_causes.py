"""Why Top10HR is what it is: random searches on the pools, changed in one respect at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from benchmarks.report_page import Sheet, percent
from benchmarks.tuning.diagnosis_rule import Diagnosis, Histories, remembered
from benchmarks.tuning.measures import top10_hit_ratio
from benchmarks.tuning.pool import Pool
from benchmarks.tuning.pool_part import Part
from benchmarks.tuning.published_numbers import TASKS, TOP10HR, TRIED
from benchmarks.tuning.run_searches import OTHER
from benchmarks.tuning.score_rules import Plain
from benchmarks.tuning.searchers import Random
from benchmarks.tuning.simulated_search import Ending, Rule, SimulatedTrial, simulate
from sickbay.history import History
from sickbay.problems.profiles import PROFILES

LARGE = 100  # whole trials in a large budget
APART = ", no trial twice"
RULES = ("bttackler", "bttackler_paper")


class Foreknowledge:
    """Ends the worse half of the trials after their first epoch."""

    def __init__(self, part: Part) -> None:
        worst_first = np.argsort(part.best[:, -1])
        self._worse = set(worst_first[: len(part.trials) // 2].tolist())

    def ends(self, trial: int, _done: int, _past: Sequence[SimulatedTrial]) -> Ending | None:
        return Ending("foreknowledge") if trial in self._worse else None


@dataclass(frozen=True)
class Choice:
    """The trials that a search chooses from, and their places among all."""

    part: Part
    places: Sequence[int]


@dataclass(frozen=True)
class Hits:
    """Top10HR of some searches, and how many trials they tried for each one of a plain search."""

    top10hr: float
    more: float

    @property
    def expected(self) -> float:
        """Top10HR if trials differed in number alone, not in quality."""
        return self.more / (1 + self.more)


class Searches:
    """Random searches on trials of one task, with a rule and without."""

    def __init__(self, part: Part, seeds: int) -> None:
        self._part, self._seeds = part, seeds
        self._histories = Histories(part)
        self._problems = {name: [remembered(each) for each in PROFILES[name]] for name in RULES}

    def hits(self, rule: str, trials: float, disjoint: bool = False) -> Hits:
        """Search in the time of so many whole trials.

        If `disjoint`, each search has another half of them to choose from.
        """
        ratios, more = [], []
        budget = self._part.budget(trials)
        for seed in range(self._seeds):
            mine, theirs = self._choices(seed, disjoint)
            ours = simulate(mine.part, Random(mine.part, seed), self._rule(rule, mine), budget)
            base = simulate(theirs.part, Random(theirs.part, OTHER + seed), Plain(), budget)
            ratios.append(top10_hit_ratio(reached(mine.part, ours), reached(theirs.part, base)))
            more.append(len(ours) / len(base))
        return Hits(fmean(ratios), fmean(more))

    def _choices(self, seed: int, disjoint: bool) -> tuple[Choice, Choice]:
        order = list(range(len(self._part.trials)))
        if not disjoint:
            return self._choice(order), self._choice(order)
        order = np.random.default_rng(seed).permutation(order).tolist()
        middle = len(order) // 2
        return self._choice(order[:middle]), self._choice(order[middle:])

    def _choice(self, places: Sequence[int]) -> Choice:
        trials = tuple(self._part.trials[place] for place in places)
        return Choice(Part(self._part.task, trials), places)

    def _rule(self, name: str, mine: Choice) -> Rule:
        if name not in self._problems:
            return Foreknowledge(mine.part)

        def history(trial: int, done: int) -> History:
            return self._histories(mine.places[trial], done)

        return Diagnosis(mine.part, self._problems[name], history)


def reached(part: Part, played: Sequence[SimulatedTrial]) -> list[float]:
    return [float(part.best[each.trial, each.epochs - 1]) for each in played]


def causes(pools: Mapping[str, Pool], seeds: int) -> Sheet:
    """Return a table of Top10HR, published and here, with what the number of trials explains."""
    rows = []
    for task, pool in pools.items():
        tried = Hits(TOP10HR[task]["random"][0] / 100, TRIED[task][2] / TRIED[task][0])
        rows.append(row_of(task, "published", tried))
        part, whole = Part.of(pool, "reporting"), Part(task, tuple(pool.trials))
        few = len(part.trials) / 8
        shared, split = Searches(part, seeds), Searches(whole, seeds)
        for rule in (*RULES, "foreknowledge"):
            rows.append(row_of(task, rule, shared.hits(rule, few)))
            rows.append(row_of(task, f"{rule}{APART}", split.hits(rule, few, True)))
        large = split.hits("bttackler", LARGE, True)
        rows.append(row_of(task, f"bttackler{APART}, time of {LARGE} trials", large))
    note = f"""
Random search, {seeds} seeds, in the time of an eighth of the part unless said otherwise. A search
that tries r times as many trials of the same kind as plain, and keeps the good ones, has
r / (1 + r) of the ten best on average. "Foreknowledge" ends the worse half of all trials after one
epoch and none of the better half, which no diagnosis can know. "No trial twice" gives the two
searches different halves of the whole pool, so that none finds the other's trials.""".lstrip()
    columns = ("task", "rule", "r: trials, times plain", "r / (1 + r)", "Top10HR")
    return Sheet("What the number of trials explains", note, columns, rows)


def row_of(task: str, name: str, found: Hits) -> list[str]:
    more = f"{found.more:.2f}"
    return [TASKS[task], name, more, percent(found.expected), percent(found.top10hr)]
