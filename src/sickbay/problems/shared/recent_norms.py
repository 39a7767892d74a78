"""The gradient norm of this step and those before it."""

from sickbay.problems.shared.base import History
from sickbay.problems.shared.small_batches import typical

READINGS, STEPS = 15, 50  # needed to know the usual level


def newest_and_earlier_norms(
    history: History, window: int, steps: int = 1
) -> tuple[float, list[float]]:
    """Return the norm of this step and those of the `window` steps before it.

    With `steps` above 1, return the median of the newest `steps` norms, and look back `steps` times
    as far. Return no earlier norms if there are too few, or if this step was not read.
    """
    first = history.step - window * steps
    timed = [each for each in history.timed("grad_norm", window * steps + 1) if each[0] >= first]
    if not timed or timed[-1][0] != history.step:
        return 0.0, []
    norms = [norm for _, norm in timed]
    enough = len(timed) >= steps + min(READINGS, window)
    span = timed[-1][0] - timed[0][0] >= min(STEPS, window)
    return typical(norms[-steps:]), norms[:-steps] if enough and span else []
