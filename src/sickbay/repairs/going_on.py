"""Whether a run would become better if it went on."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf, isfinite
from statistics import fmean

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import Problem, StillFalling
from sickbay.problems.shared.yardsticks import Yardstick
from sickbay.repairs.scoring import key

RISE = 0.01  # of the score, by which it must have risen at the end
POINTS = 0.05  # by which a score must be expected to rise if nobody knows how far it can
HALF = 0.5  # of the way to the reference


def is_short(yardstick: Yardstick, score: float) -> bool:
    """Return whether a score is not as near to the reference as a success, or there is none."""
    return yardstick.reference is None or not yardstick.is_near(score)


def is_rising(scores: Sequence[Mapping[str, float]]) -> bool:
    """Return whether the best score is from the last quarter of the epochs, and 1 % better.

    A loss that falls further only on the training data is no reason to go on.

    >>> is_rising([{"val_accuracy": each} for each in (0.5, 0.7, 0.8, 0.85)])
    True
    """
    values = [key(each) for each in scores]
    last = max(1, len(values) // 4)
    before, after = (max(some, default=-inf) for some in (values[:-last], values[-last:]))
    return not isfinite(before) or after > before + RISE * abs(before)


def forecast(values: Sequence[float], more: int) -> float:
    """Return the score to expect after so many more epochs.

    Each quarter of a run adds less than the one before, by the same factor. Infinity means that the
    run was too short to tell.

    >>> scores = [0.0, 0.0, 0.4, 0.4, 0.6, 0.6, 0.7, 0.7]
    >>> round(forecast(scores, 2), 3), round(forecast(scores, 1000), 3)
    (0.75, 0.8)
    >>> forecast([0.5, 0.5, 0.5, 0.5], 1000)
    0.5
    """
    size = len(values) // 4
    if not size:
        return inf
    ends = [len(values) - size * each for each in (3, 2, 1, 0)]
    before, earlier, now = (fmean(values[a:b]) for a, b in pairwise(ends))
    gained, gain, parts = earlier - before, now - earlier, more / size
    if not gain > 0:
        return max(values)
    factor = gain / gained if gained > gain else 1.0
    whole = parts if factor == 1 else factor * (1 - factor**parts) / (1 - factor)
    return max(max(values), now + gain * whole)


def pays(yardstick: Yardstick, scores: Sequence[Mapping[str, float]], more: int) -> bool:
    """Return whether so many more epochs should bring a run to its reference, or half the way.

    Without a reference, they should bring 5 points, and without any yardstick, something. A run
    that is no better than a constant answer has nothing yet to judge by.
    """
    values = [each for each in map(key, scores) if isfinite(each)]
    best, expected = max(values, default=-inf), forecast(values, more)
    if not yardstick.known:
        return is_rising(scores)
    if not isfinite(expected) or not yardstick.beats_constant(best):
        return True
    rise = yardstick.room(best) - yardstick.room(expected)
    if yardstick.reference is None:
        return rise >= POINTS
    return yardstick.is_near(expected) or rise >= HALF * yardstick.missing(best)


def falling(history: History, problems: Sequence[Problem]) -> list[Finding]:
    """Return whether the loss is still falling, if that is looked for, before a run has ended."""
    history.ended = True
    found = [each.check(history) for each in problems if isinstance(each, StillFalling)]
    history.ended = False
    return [each for each in found if each is not None]
