"""The gradient norm of this step against those before it."""

from sickbay.history import History

READINGS, STEPS = 15, 50  # that are needed to know what is usual


def lately(history: History, window: int) -> tuple[float, list[float]]:
    """Return the norm of this step and those of the `window` steps before it.

    Nothing before it if there are too few to compare with, or if it was not read at this step.
    """
    timed = [
        each for each in history.timed("grad_norm", window + 1) if each[0] >= history.step - window
    ]
    if not timed or timed[-1][0] != history.step:
        return 0.0, []
    enough = len(timed) > min(READINGS, window)
    span = timed[-1][0] - timed[0][0] >= min(STEPS, window)
    return timed[-1][1], [norm for _, norm in timed[:-1]] if enough and span else []
