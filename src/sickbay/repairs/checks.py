"""Numbers and devices that `fit` may be given: one clear sentence for everything else."""

from __future__ import annotations

from math import isnan
from numbers import Integral, Real
from typing import Any, TypeGuard

import torch

from sickbay.errors import UsageError


def check_numbers(
    *, epochs: object, batch_size: object, budget: object, target: object, seed: object = 0
) -> None:
    """Say so if one of these is no number that can be used."""
    check_count("epochs", epochs)
    check_count("batch_size", batch_size)
    check_budget(budget)
    check_target(target)
    if isinstance(seed, bool) or not isinstance(seed, Integral):
        raise UsageError(f"seed must be a whole number, got {seed!r}.")


def check_count(name: str, value: object) -> None:
    """Say so if this is not a number of things, such as epochs or samples in a batch."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise UsageError(f"{name} must be a whole number from 1 on, got {value!r}.")


def check_budget(budget: object) -> None:
    """Say so if nothing can be spent; None is no limit."""
    if not is_number(budget):
        raise UsageError(f"budget must be a number or None, got {budget!r}.")
    if budget is not None and not budget > 0:
        raise UsageError(f"budget must be above 0, got {budget!r}.")


def check_target(target: object) -> None:
    """Say so if this is no score to reach; None is no score."""
    if not is_number(target) or (target is not None and isnan(target)):
        raise UsageError(f"target must be a number or None, got {target!r}.")


def is_number(value: object) -> TypeGuard[float | None]:
    """Tell whether this is a number or None."""
    return value is None or (isinstance(value, Real) and not isinstance(value, bool))


def check_device(device: Any) -> torch.device | None:
    """Return the device, or say why torch cannot compute there."""
    if device is None:
        return None
    try:
        found = torch.device(device)
        torch.zeros(1, device=found).item()
    except Exception as error:  # a device that is not there raises whatever its driver likes
        raise UsageError(
            f"device must be one that torch can use here, got {device!r}: {said(error)}"
        ) from error
    return found


def said(error: BaseException) -> str:
    r"""Return the line of an error that says most, as the end of a sentence.

    That is the last one; CUDA ends its errors with advice.

    >>> said(RuntimeError("CUDA error: out of paper\nCompile with `DSA`."))
    'CUDA error: out of paper.'
    """
    lines = str(error).strip().splitlines() or [type(error).__name__]
    line = lines[0] if lines[0].startswith("CUDA error") else lines[-1]
    return line.strip().rstrip(".") + "."
