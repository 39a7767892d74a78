"""Where a run stands in its planned epochs: some rules hold only for a part of them."""

from typing import Literal

from sickbay.problems.shared.base import History


def stage(history: History) -> Literal["early", "late"] | None:
    """Return the half of the planned epochs that the newest finished epoch is in.

    The middle one of an odd number is late. Return None if the planned epochs are not known, or
    none is finished yet.

    >>> from sickbay.vitals import Setup
    >>> history = History(Setup(epochs=3))
    >>> stages = [stage(history)]
    >>> for _ in range(3):
    ...     history.end_epoch()
    ...     stages.append(stage(history))
    >>> stages
    [None, 'early', 'late', 'late']
    """
    planned, finished = history.setup.epochs, history.epoch
    if not planned or not finished:
        return None
    return "early" if finished <= planned // 2 else "late"


def is_over(history: History, share: float) -> bool:
    """Return whether a share of the planned epochs is over; True if they are not known."""
    return history.epoch >= share * (history.setup.epochs or 0)


def adaptive_window(history: History, share: float) -> int:
    """Return a share of the planned epochs, rounded to a whole number of at least 2.

    >>> from sickbay.vitals import Setup
    >>> [adaptive_window(History(Setup(epochs=planned)), 0.3) for planned in (1, 5, 15, 20, 100)]
    [2, 2, 4, 6, 30]
    """
    return max(2, round(share * (history.setup.epochs or 0)))
