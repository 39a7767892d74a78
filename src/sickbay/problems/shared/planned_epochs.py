"""Where a run stands in its planned epochs: some rules hold for a part of them only."""

from typing import Literal

from sickbay.history import History


def stage(history: History) -> Literal["early", "late"] | None:
    """Return the half of the planned epochs that the newest finished epoch is in.

    None where the planned epochs are not known, or none is finished yet. Of an odd number, the one
    in the middle is late.

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
    """Tell whether this share of the planned epochs is over; always where they are not known."""
    return history.epoch >= share * (history.setup.epochs or 0)


def adaptive_window(history: History, share: float) -> int:
    """Return this share of the planned epochs as a whole number, at least 2.

    It is rounded to the nearest, and from halfway to the even one.

    >>> from sickbay.vitals import Setup
    >>> [adaptive_window(History(Setup(epochs=planned)), 0.3) for planned in (1, 5, 15, 20, 100)]
    [2, 2, 4, 6, 30]
    """
    return max(2, round(share * (history.setup.epochs or 0)))
