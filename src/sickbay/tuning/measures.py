"""How much better a search is than another, in the two numbers of BTTackler (Pei et al., 2024)."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, isfinite, nan
from typing import TypeAlias

Curve: TypeAlias = Iterable[tuple[float, float]]  # seconds since the start, and the value then


def top10_hit_ratio(
    method: Iterable[float], baseline: Iterable[float], maximize: bool = True
) -> float:
    """Return the share of the joint ten best trials that came from the method.

    Given are the values that the trials of both searches reached; 0.5 means that none is better.
    Where trials of both tie for the last of the ten places, each side gets its share of what is
    left: of one place that one trial each would fill, half. Trials without a finite value do not
    count; if there are fewer than ten, their number takes the place of ten; NaN if there are none.

    The ten best here are 9, 9, 8, 8, 7, 7, 6, 6, 5, 5: the method has two of them.

    >>> baseline = [9, 9, 8, 8, 7, 7, 6, 6, 1, 1]
    >>> top10_hit_ratio([5, 5, 4, 4], baseline)
    0.2

    Only one place is left for the two trials with 5, so each fills half of it.

    >>> top10_hit_ratio([5, 4, 4], [*baseline, 8.5, 5])
    0.05
    >>> top10_hit_ratio([0.1, 0.4], [0.2, 0.3], maximize=False)
    0.5
    """
    sign = 1 if maximize else -1
    ours, theirs = ([sign * each for each in side if isfinite(each)] for side in (method, baseline))
    ranked = sorted([*ours, *theirs], reverse=True)[:10]
    if not ranked:
        return nan
    last = ranked[-1]
    above = sum(each > last for each in ours)
    tied = ours.count(last) / (ours.count(last) + theirs.count(last))
    return (above + tied * ranked.count(last)) / len(ranked)


def time_saving_for_baseline_accuracy(
    method: Curve, baseline: Curve, maximize: bool = True
) -> float:
    """Return the share of the baseline's time that the method saves to get as far.

    That is `(T_base - T_method) / T_base`: seconds until the baseline has its best value, and until
    the method has that value or a better one. Curves are pairs of seconds since the start and a
    value, in any order; values may be of single trials or the best so far.

    A method that never gets there counts as if it had at the end of the longer curve, so that what
    it saves is never above 0, and means over many searches stay meaningful; `seconds_to_reach`
    tells it from one that did. NaN if the baseline has no finite value, or needs no time for it.

    The baseline has its best, 0.8, after 40 seconds. The method has 0.82 after 30: a quarter less.

    >>> baseline = [(10, 0.5), (20, 0.7), (40, 0.8), (60, 0.6)]
    >>> time_saving_for_baseline_accuracy([(15, 0.6), (30, 0.82)], baseline)
    0.25

    With 0.79 it never gets there, and counts as if it had after 60 seconds: half as long again.

    >>> time_saving_for_baseline_accuracy([(15, 0.6), (30, 0.79)], baseline)
    -0.5
    """
    ours, theirs = list(method), list(baseline)
    sign = 1 if maximize else -1
    best = max((sign * value for _, value in theirs if isfinite(value)), default=nan) * sign
    needed = seconds_to_reach(theirs, best, maximize)
    if not isfinite(needed) or needed <= 0:
        return nan
    taken = seconds_to_reach(ours, best, maximize)
    if not isfinite(taken):
        taken = max(seconds for seconds, _ in [*ours, *theirs])
    return (needed - taken) / needed


def seconds_to_reach(curve: Curve, goal: float, maximize: bool = True) -> float:
    """Return when a curve first is as good as the goal, infinity if never.

    >>> curve = [(10, 0.5), (20, 0.7), (40, 0.8)]
    >>> seconds_to_reach(curve, 0.7), seconds_to_reach(curve, 0.9)
    (20, inf)
    """
    sign = 1 if maximize else -1
    return min((seconds for seconds, value in curve if sign * value >= sign * goal), default=inf)
