"""How much better a search is than another, in the two numbers of BTTackler (Pei et al., 2024)."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, isfinite, nan
from typing import TypeAlias

from sickbay.arguments import bad_argument, check_any_float, check_bool, check_float, check_iterable

PAIRS = "pairs of seconds and a value"
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
    sign = 1 if check_bool("maximize", maximize) else -1
    given = _numbers("method", method), _numbers("baseline", baseline)
    ours, theirs = ([sign * each for each in side if isfinite(each)] for side in given)
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

    That is `(T_base - T_method) / T_base`: the time that the baseline had, which is the end of its
    curve, and the seconds until the method has the baseline's best value or a better one. Curves
    are pairs of seconds since the start and a value, in any order; values may be of single trials
    or the best so far.

    A search has its own best before its time is over, so that one that is no better saves something
    too: give it beside. A method that never gets there counts with its whole time, or the
    baseline's if that is longer, so that it saves nothing; `seconds_to_reach` tells it from one
    that got there. NaN if the baseline has no finite value, or no time.

    The baseline had 60 seconds and got to 0.8. The method has 0.82 after 30: in half the time.

    >>> baseline = [(10, 0.5), (20, 0.7), (40, 0.8), (60, 0.6)]
    >>> time_saving_for_baseline_accuracy([(15, 0.6), (30, 0.82)], baseline)
    0.5

    With 0.79 it never gets there.

    >>> time_saving_for_baseline_accuracy([(15, 0.6), (30, 0.79)], baseline)
    0.0
    """
    sign = 1 if check_bool("maximize", maximize) else -1
    ours, theirs = _curve("method", method), _curve("baseline", baseline)
    best = sign * max((sign * value for _, value in theirs if isfinite(value)), default=nan)
    given = max((seconds for seconds, _ in theirs), default=0.0)
    if not isfinite(best) or given <= 0:
        return nan
    taken = seconds_to_reach(ours, best, maximize)
    if not isfinite(taken):
        taken = max(seconds for seconds, _ in [*ours, *theirs])
    return (given - taken) / given


def seconds_to_reach(curve: Curve, goal: float, maximize: bool = True) -> float:
    """Return when a curve first is as good as the goal, infinity if never.

    >>> curve = [(10, 0.5), (20, 0.7), (40, 0.8)]
    >>> seconds_to_reach(curve, 0.7), seconds_to_reach(curve, 0.9)
    (20.0, inf)
    """
    sign = 1 if check_bool("maximize", maximize) else -1
    goal = check_float("goal", goal, infinite=True)
    pairs = [pair for pair in _curve("curve", curve) if isfinite(pair[1])]
    return min((seconds for seconds, value in pairs if sign * (value - goal) >= 0), default=inf)


def _numbers(name: str, given: Iterable[float]) -> list[float]:
    return [check_any_float(name, each) for each in check_iterable(name, given, "numbers")]


def _curve(name: str, given: Curve) -> list[tuple[float, float]]:
    pairs = []
    for each in check_iterable(name, given, PAIRS):
        if not isinstance(each, tuple | list) or len(each) != 2:
            raise bad_argument(name, PAIRS, each)
        pairs.append((check_float(f"seconds of {name}", each[0]), check_any_float(name, each[1])))
    return pairs
