"""What the user's callbacks are told after each epoch, and whether they stop the run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from sickbay.arguments import bad_argument, short_repr
from sickbay.errors import UsageError


@dataclass(frozen=True)
class EpochEnd:
    """An epoch that has just ended.

    Attributes:
        attempt: The number of the attempt. 0 is the recipe as given.
        epoch: The number of the epoch in this attempt, from 0.
        metrics: Its metrics, such as `val_loss`.
        score: Its score. Higher is better.
        change: What the attempt changes, in words.
    """

    attempt: int
    epoch: int
    metrics: Mapping[str, float]
    score: float
    change: str


Callback: TypeAlias = Callable[[EpochEnd], object]


def check_callbacks(callbacks: Any) -> tuple[Callback, ...]:
    """Return the callbacks. Raise `UsageError` unless it is a list of functions."""
    if callbacks is None:
        return ()
    if not isinstance(callbacks, Sequence) or isinstance(callbacks, str):
        raise bad_argument("callbacks", "a list of functions", callbacks)
    for each in callbacks:
        if not callable(each) or isinstance(each, type):
            raise UsageError(
                f"callbacks must be a list of functions, got one with {short_repr(each)}."
            )
    return tuple(callbacks)


def call_all(callbacks: Sequence[Callback], ended: EpochEnd) -> bool:
    """Call all callbacks. Return whether one of them has returned True, which stops the run."""
    answers = [callback(ended) for callback in callbacks]
    return any(isinstance(each, bool | np.bool_) and bool(each) for each in answers)
