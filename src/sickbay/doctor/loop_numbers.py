"""Making plain numbers of what a loop hands over."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from torch import Tensor


def as_number(value: Any) -> float | None:
    """Return a number as a float, a tensor as the mean of its values, None for anything else."""
    try:
        if not isinstance(value, Tensor):
            return float(value)
        value = value.detach()
        single = value.ndim == 0 or value.is_complex()  # which has no mean that is a float
        return float(value.item() if single else value.float().mean().item())
    except Exception:
        return None


def told(loss: Any, metrics: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a step was told with, by name."""
    return metrics if loss is None else {"loss": loss, **metrics}


def numbers_of(values: Mapping[str, Any], notice: Callable[[str], object]) -> dict[str, float]:
    """Return what was given as numbers; what is none is left out, and that is said."""
    numbers = {}
    for name, value in values.items():
        number = as_number(value)
        if number is None:
            kind = type(value).__name__
            got = f"a tensor of {value.dtype}" if isinstance(value, Tensor) else kind
            notice(f"{name} must be a number or a tensor, got {got}.")
        else:
            numbers[name] = number
    return numbers


def averages(rows: Collection[dict[str, float]]) -> dict[str, float]:
    """Return the mean of every name over the rows that have it.

    >>> averages([{"loss": 1.0, "accuracy": 0.5}, {"loss": 3.0}])
    {'loss': 2.0, 'accuracy': 0.5}
    """
    if len(rows) == 1:
        return next(iter(rows))
    values: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            values.setdefault(name, []).append(value)
    return {name: sum(each) / len(each) for name, each in values.items()}
