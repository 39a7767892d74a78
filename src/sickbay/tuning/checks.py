"""What the `watch` of a search may be given: one clear sentence for everything else."""

from math import isfinite

from sickbay.errors import UsageError, unknown

DIRECTIONS = {"maximize": True, "minimize": False}
LEARNS = ("last", "constraint", "penalty")


def check_planned(epochs: object) -> None:
    """Say so if this is not a number of planned epochs."""
    if isinstance(epochs, bool) or not isinstance(epochs, int) or epochs < 1:
        raise UsageError(f"epochs must be a whole number from 1 on, got {epochs!r}.")


def check_metric(metric: object) -> None:
    """Say so if this is not the name of a metric."""
    if not isinstance(metric, str) or not metric.isidentifier():
        raise UsageError(
            f"metric must be the name that epoch() is given it by, as 'val_loss', got {metric!r}."
        )


def is_maximized(direction: object) -> bool:
    """Tell whether larger values are better, by the name of a direction.

    >>> is_maximized("maximize")
    True
    """
    if not isinstance(direction, str) or direction not in DIRECTIONS:
        raise unknown("direction", direction, DIRECTIONS)
    return DIRECTIONS[direction]


def check_learns(learns: object, penalty: object) -> None:
    """Say so if this is nothing that a sampler can learn."""
    if learns not in LEARNS:
        raise unknown("choice for learns", learns, LEARNS)
    if penalty is None:
        return
    if learns != "penalty":
        raise UsageError(f"penalty must be None unless learns='penalty', got {penalty!r}.")
    if isinstance(penalty, bool) or not isinstance(penalty, int | float) or not isfinite(penalty):
        raise UsageError(f"penalty must be a finite number or None, got {penalty!r}.")
