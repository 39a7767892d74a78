"""What the trials of a search know of each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Course:
    """One trial as others see it: training loss and metric of every epoch so far.

    `ended` is true if it was ended before its time: where it would have got to is not known then.
    """

    losses: Sequence[float]
    values: Sequence[float]
    ended: bool = False
