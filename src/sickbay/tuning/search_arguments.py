"""What only a search is given: one clear sentence for what cannot be used."""

from sickbay.arguments import bad_argument, check_choice, check_float, short_repr
from sickbay.errors import UsageError

DIRECTIONS = {"maximize": True, "minimize": False}
LEARNS = ("last", "constraint", "penalty")


def check_metric(metric: object) -> None:
    """Say so if this is not the name of a metric."""
    if not isinstance(metric, str) or not metric.isidentifier():
        raise bad_argument("metric", "the name that epoch() is given it by, as 'val_loss'", metric)


def is_maximized(direction: object) -> bool:
    """Tell whether larger values are better, by the name of a direction.

    >>> is_maximized("maximize")
    True
    """
    return DIRECTIONS[check_choice("direction", direction, DIRECTIONS)]


def check_learns(learns: object, penalty: object) -> None:
    """Say so if this is nothing that a sampler can learn."""
    check_choice("choice for learns", learns, LEARNS)
    if penalty is None:
        return
    if learns != "penalty":
        given = short_repr(penalty)
        raise UsageError(f"penalty must be None unless learns='penalty', got {given}.")
    check_float("penalty", penalty)
