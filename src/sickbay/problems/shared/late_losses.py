"""The losses of the second half of a run."""

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite
from statistics import fmean

from sickbay.history import History
from sickbay.problems.shared.learns_badly import SOLVED

LEAST = 8  # epochs that show where a loss is going; if there are fewer, groups of steps do
STEPS = 512  # losses kept in a history
RESTLESS = 1 / 3  # share of rises in a loss that has stopped falling


def late_losses(history: History) -> list[float]:
    """Return the mean losses of the second half of the epochs.

    If there are few epochs, the newest steps are put into 16 groups, and the last 8 are returned.
    Empty if there are too few steps for that, or a loss is not finite.

    >>> late_losses(History(loss=[float(step // 2) for step in range(32)]))
    [8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]
    """
    losses = history.epochs("loss")
    if len(losses) < LEAST:
        steps = history.recent("loss", STEPS)
        size = len(steps) // (2 * LEAST)
        groups = range(len(steps) - LEAST * size, len(steps), size or 1)
        late = [fmean(steps[start : start + size]) for start in groups]
    else:
        late = losses[len(losses) // 2 :]
    return late if all(map(isfinite, late)) else []


def rises(losses: Sequence[float]) -> int:
    """Return how often a loss is higher than the one before.

    >>> rises([1.0, 2.0, 2.0, 1.5, 3.0])
    2
    """
    return sum(after > before for before, after in pairwise(losses))


def is_restless(history: History) -> bool:
    """Return whether the loss goes up and down at the end, although there is much left to learn.

    >>> is_restless(History(loss=16 * [9.0] + 4 * [1.0, 1.0, 2.0, 2.0]))
    True
    """
    losses = late_losses(history)
    left = len(losses) > 1 and fmean(losses) > SOLVED * history.first("loss", 5)
    return left and rises(losses) >= RESTLESS * (len(losses) - 1)
