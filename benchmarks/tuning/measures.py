"""How much one search beats another: the two measures of BTTackler (Pei et al., 2024)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, isfinite, nan
from typing import TypeAlias

Curve: TypeAlias = Sequence[tuple[float, float]]  # seconds since the start, and the value then


def top10_hit_ratio(
    method: Iterable[float], baseline: Iterable[float], maximize: bool = True
) -> float:
    """Return the fraction of the joint ten best trials that came from the method.

    The arguments are the values of the trials of both searches. 0.5 means that neither is better.
    If trials of both tie for the last of the ten places, the places left are divided among them.
    Trials without a finite value do not count. If there are fewer than ten, their number replaces
    ten. NaN if there are none.

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
    """Return the fraction of the baseline's time that the method saves to get as far.

    That is `(T_base - T_method) / T_base`: the end of the baseline's curve, and the seconds until
    the method reaches the baseline's best value. Curves are pairs of seconds since the start and a
    value, in any order. Values may be those of single trials or the best so far.

    A search reaches its own best before its time is over, so a method that is no better saves time
    too; report the baseline's own number beside it. A method that never gets there counts with its
    whole time, or the baseline's if that is longer, so it saves nothing. NaN if the baseline has no
    finite value, or no time.

    The baseline had 60 seconds and got to 0.8. The method has 0.82 after 30: in half the time.

    >>> baseline = [(10, 0.5), (20, 0.7), (40, 0.8), (60, 0.6)]
    >>> time_saving_for_baseline_accuracy([(15, 0.6), (30, 0.82)], baseline)
    0.5

    With 0.79 it never gets there.

    >>> time_saving_for_baseline_accuracy([(15, 0.6), (30, 0.79)], baseline)
    0.0
    """
    sign = 1 if maximize else -1
    best = sign * max((sign * value for _, value in baseline if isfinite(value)), default=nan)
    available = max((seconds for seconds, _ in baseline), default=0.0)
    if not isfinite(best) or available <= 0:
        return nan
    needed = seconds_to_reach(method, best, maximize)
    if not isfinite(needed):
        needed = max(seconds for seconds, _ in [*method, *baseline])
    return (available - needed) / available


def seconds_to_reach(curve: Curve, goal: float, maximize: bool = True) -> float:
    """Return when a curve first reaches the goal, infinity if never.

    >>> curve = [(10, 0.5), (20, 0.7), (40, 0.8)]
    >>> seconds_to_reach(curve, 0.7), seconds_to_reach(curve, 0.9)
    (20, inf)
    """
    sign = 1 if maximize else -1
    reached = (
        seconds for seconds, value in curve if isfinite(value) and sign * (value - goal) >= 0
    )
    return min(reached, default=inf)
