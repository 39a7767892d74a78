"""Whether a run would become better if it went on, judged before it cools down."""

from collections.abc import Mapping, Sequence
from math import inf, isfinite

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import Problem, StillFalling
from sickbay.problems.shared.yardsticks import Yardstick
from sickbay.repairs.scoring import key

RISE = 0.01  # of the score, by which it must have risen at the end


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


def falling(history: History, problems: Sequence[Problem]) -> list[Finding]:
    """Return whether the loss is still falling, if that is looked for, before a run has ended."""
    history.ended = True
    found = [each.check(history) for each in problems if isinstance(each, StillFalling)]
    history.ended = False
    return [each for each in found if each is not None]
