"""The figures of the searches, each with a confidence interval over seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from statistics import fmean
from typing import TypeAlias

import numpy as np

from benchmarks.tuning.command_options import NAMES, RULES
from benchmarks.tuning.measures import seconds_to_reach, top10_hit_ratio
from benchmarks.tuning.pool_part import Array, Part
from benchmarks.tuning.run_searches import OTHER, Search
from benchmarks.tuning.simulated_search import SimulatedTrial, curve

RESAMPLED = 1000
SHORT = 0.01  # of the value that a trial would have reached
Cell: TypeAlias = tuple[str, str, str]  # task, searcher, rule

WORDS: Mapping[str, str] = {  # the figures and their headings
    "top10hr": "Top10HR",
    "ceiling": "Top10HR at most",
    "top10hr_last": "Top10HR by last values",
    "tsba": "TSBA",
    "sooner": "sooner than plain",
    "never": "never there",
    "tried": "tried",
    "finished": "finished",
    "ended": "ended",
    "good": "good ones tried",
    "wrong": "of those ended wrongly",
    "stunted": "of those ended short",
    "lost": "good ones lost",
    "short": "good ones more than 1 % short",
    "best": "best",
    "ten": "mean of ten",
}


@dataclass(frozen=True)
class Figure:
    """A figure, and its values for resampled seeds."""

    value: float
    resampled: Array

    @property
    def low(self) -> float:
        return self._percentile(2.5)

    @property
    def high(self) -> float:
        return self._percentile(97.5)

    def _percentile(self, level: float) -> float:
        known = self.resampled[~np.isnan(self.resampled)]
        return float(np.percentile(known, level)) if len(known) else nan


@dataclass(frozen=True)
class Outcome:
    """What the figures need of a search."""

    scores: list[float]  # the best score of every trial
    last: list[float]
    course: list[tuple[float, float]]  # seconds and score at each improvement
    tried: int
    finished: int
    ended: int
    good: int  # trials of the best ten per cent that were tried
    wrong: int  # of these, lost
    short: int  # of these, ended more than 1 % below their final value


def outcome(part: Part, past: Sequence[SimulatedTrial]) -> Outcome:
    epochs = part.scores.shape[1]
    return Outcome(
        scores=[float(part.best[each.trial, each.epochs - 1]) for each in past],
        last=[float(part.scores[each.trial, each.epochs - 1]) for each in past],
        course=rising(curve(part, past)),
        tried=len(past),
        finished=sum(each.epochs == epochs for each in past),
        ended=sum(bool(each.why) for each in past),
        good=sum(each.trial in part.good for each in past),
        wrong=sum(is_wrong(part, each) for each in past),
        short=sum(is_short(part, each) for each in past),
    )


def is_wrong(part: Part, played: SimulatedTrial) -> bool:
    """Return whether a trial of the best ten per cent was lost.

    It was if it was ended as sick or hopeless, or as benign before it was that good.
    """
    if not played.why or played.trial not in part.good:
        return False
    return not played.benign or bool(part.best[played.trial, played.epochs - 1] < part.bar)


def is_short(part: Part, played: SimulatedTrial) -> bool:
    """Return whether a trial of the best ten per cent was ended with much left to gain."""
    if not played.why or played.trial not in part.good:
        return False
    whole = part.best[played.trial, -1]
    return bool(part.best[played.trial, played.epochs - 1] < whole - SHORT * abs(whole))


def rising(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points that are higher than all before them.

    >>> rising([(1, 0.5), (2, 0.4), (3, 0.6)])
    [(1.0, 0.5), (3.0, 0.6)]
    """
    best: list[tuple[float, float]] = []
    for seconds, score in points:
        if isfinite(score) and (not best or score > best[-1][1]):
            best.append((float(seconds), float(score)))
    return best


def figures(
    searches: Iterable[Search], parts: Mapping[str, Part], budgets: Mapping[str, float]
) -> dict[Cell, dict[str, Figure]]:
    """Return the figures for every task, searcher and rule."""
    by: dict[Cell, list[Outcome]] = defaultdict(list)
    others: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for each in sorted(searches, key=lambda search: search.seed):
        made = outcome(parts[each.task], each.played)
        if each.seed >= OTHER:
            others[each.task, each.searcher].append(made)
        else:
            by[each.task, each.searcher, each.rule].append(made)
    return {
        cell: compared(mine, others[cell[:2]], parts[cell[0]], budgets[cell[0]], number)
        for number, (cell, mine) in enumerate(sorted(by.items(), key=in_order))
    }


def in_order(item: tuple[Cell, object]) -> tuple[str, int, int]:
    """Return the sort key of a row: the task, then the order of searchers and rules."""
    task, searcher, rule = item[0]
    return task, NAMES.index(searcher), RULES.index(rule)


def compared(
    mine: Sequence[Outcome], others: Sequence[Outcome], part: Part, budget: float, seed: int
) -> dict[str, Figure]:
    """Return the figures of the searches of one kind, each compared with every plain one."""
    rng = np.random.default_rng(seed)
    # How often each search counts: once in the first row, then as resampled.
    ours, theirs = (
        np.vstack([np.ones(n), rng.multinomial(n, [1 / n] * n, RESAMPLED)])
        for n in (len(mine), len(others))
    )

    def pairs(table: Sequence[Sequence[float]]) -> Array:
        made: Array = np.einsum("ri,ij,rj->r", ours, np.array(table, float), theirs)
        return made / (len(mine) * len(others))

    def mean(values: Iterable[float]) -> Array:
        made: Array = ours @ np.array(list(values), float)
        return made / len(mine)

    hits = [[top10_hit_ratio(a.scores, b.scores) for b in others] for a in mine]
    every = part.best[:, -1].tolist()
    ceiling = theirs @ np.array([top10_hit_ratio(every, b.scores) for b in others]) / len(others)
    hits_last = [[top10_hit_ratio(a.last, b.last) for b in others] for a in mine]
    goals = [b.course[-1] for b in others]
    reached = [[seconds_to_reach(a.course, score) for _, score in goals] for a in mine]
    taken = pairs(np.minimum(reached, budget).tolist())
    needed = theirs @ np.array([seconds for seconds, _ in goals]) / len(others)
    made = {
        "top10hr": pairs(hits),
        "ceiling": ceiling,
        "top10hr_last": pairs(hits_last),
        "tsba": 1 - taken / budget,
        "sooner": 1 - taken / needed,
        "never": pairs(np.isinf(reached).tolist()),
        "tried": mean(a.tried for a in mine),
        "finished": mean(a.finished for a in mine),
        "ended": mean(a.ended for a in mine),
        "good": mean(a.good for a in mine),
        "wrong": mean(a.wrong for a in mine),
        "stunted": mean(a.short for a in mine),
        "best": part.sign * mean(max(a.scores) for a in mine),
        "ten": part.sign * mean(fmean(sorted(a.scores)[-10:]) for a in mine),
    }
    return with_share({name: Figure(float(v[0]), v[1:]) for name, v in made.items()})


def over(cells: Sequence[Mapping[str, Figure]]) -> dict[str, Figure]:
    """Return the means of figures over several tasks or searchers."""
    return with_share(
        {
            name: Figure(
                fmean(each[name].value for each in cells),
                np.mean([each[name].resampled for each in cells], axis=0),
            )
            for name in cells[0]
        }
    )


def with_share(made: dict[str, Figure]) -> dict[str, Figure]:
    """Add the fractions of good trials that were lost or ended short."""
    good, shares = made["good"], {}
    with np.errstate(invalid="ignore"):
        for share, count in (("lost", made["wrong"]), ("short", made["stunted"])):
            value = float(np.divide(count.value, good.value))
            shares[share] = Figure(value, count.resampled / good.resampled)
    return {**made, **shares}
