"""The gradient norm of this step against those before it."""

from sickbay.history import History
from sickbay.problems.shared.small_batches import typical

READINGS, STEPS = 15, 50  # that are needed to know what is usual


def lately(history: History, window: int, steps: int = 1) -> tuple[float, list[float]]:
    """Return the norm of this step and those of the `window` steps before it.

    With `steps`, the median of the newest so many, and those before them, as many times as far.
    Nothing before it if there are too few to compare with, or if it was not read at this step.
    """
    first = history.step - window * steps
    timed = [each for each in history.timed("grad_norm", window * steps + 1) if each[0] >= first]
    if not timed or timed[-1][0] != history.step:
        return 0.0, []
    norms = [norm for _, norm in timed]
    enough = len(timed) >= steps + min(READINGS, window)
    span = timed[-1][0] - timed[0][0] >= min(STEPS, window)
    return typical(norms[-steps:]), norms[:-steps] if enough and span else []
