"""Whether a loss falls without end: far below 0 and no slower than before, or out of all bounds."""

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite
from statistics import fmean

from sickbay.history import History

PARTS, LEAST = 6, 150  # parts of the newest losses that are compared, and losses needed
DEEP = 50.0  # times the size of the first loss, or of 1 if that is larger
BOTTOMLESS = 1e6  # the same for a loss that need not fall steadily any more
STEADY = 0.8  # of its last fall, by which the loss must fall again from part to part


def runs_away(history: History) -> bool:
    """Return whether the loss falls without end.

    A log-likelihood slows down as the model improves, and other sound losses have a lower bound.
    With the wrong sign, the loss falls faster as the weights grow.

    >>> runs_away(History(loss=[-0.01 * step**2 for step in range(200)]))
    True
    >>> runs_away(History(loss=[1 - 0.5 * step**0.5 for step in range(20_000)]))
    False
    >>> runs_away(History(loss=[550.0, -4.6e4, -5e9, -1e20, -1e19]))
    True
    """
    if not history.latest("loss") < -DEEP:
        return False
    losses = history.recent("loss", history.step + 1)
    deepest = min(filter(isfinite, losses), default=0.0)
    if deepest < -BOTTOMLESS * max(1.0, abs(history.first("loss"))):
        return True
    if len(losses) < LEAST or not all(map(isfinite, losses)):
        return False
    means, first = _means(losses), history.first("loss")
    falls = [before - after for before, after in pairwise(means)]
    steady = falls[0] > 0 and all(new >= STEADY * old for old, new in pairwise(falls))
    # A long run shows only its newest losses, in which any curve looks straight.
    usual = (first - losses[-1]) * (len(losses) // PARTS) / (history.step + 1)
    return steady and falls[-1] >= STEADY * usual and means[-1] < -DEEP * max(1.0, abs(first))


def _means(losses: Sequence[float]) -> list[float]:
    size = len(losses) // PARTS
    newest = losses[-PARTS * size :]
    return [fmean(newest[start : start + size]) for start in range(0, len(newest), size)]
