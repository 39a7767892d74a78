"""Samples and labels as tensors, or one clear sentence why they are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from sickbay.errors import UsageError
from sickbay.printable import error_message

KINDS = "a pair (x, y), a torch Dataset of such pairs or a DataLoader"


def pair(name: str, x: Any, y: Any, dtype: torch.dtype) -> tuple[tuple[Tensor, ...], Tensor]:
    """Return samples and labels as tensors, or say why they are none."""
    for what, value in (("samples", x), ("labels", y)):
        if value is None:
            raise UsageError(f"{name} must have {what}, got None; possible: {KINDS}.")
    several = isinstance(x, tuple) and all(isinstance(each, Tensor | np.ndarray) for each in x)
    inputs = tuple(_tensor(name, each, dtype) for each in (x if several else (x,)))
    targets = _tensor(name, y, dtype)
    return inputs, targets if targets.is_floating_point() else targets.long()


def batch(name: str, raw: Any, dtype: torch.dtype) -> tuple[tuple[Tensor, ...], Tensor]:
    """Return what a DataLoader has made as inputs and targets; the targets are the last."""
    if not isinstance(raw, tuple | list) or len(raw) < 2:
        count = f" of {len(raw)}" if isinstance(raw, tuple | list) else ""
        raise UsageError(f"{name} must give pairs (x, y), got a {type(raw).__name__}{count}.")
    *inputs, targets = raw
    nested = len(inputs) == 1 and isinstance(inputs[0], tuple | list)
    return pair(name, tuple(inputs[0]) if nested else tuple(inputs), targets, dtype)


def check_rows(name: str, inputs: tuple[Tensor, ...], targets: Tensor) -> None:
    """Say so if there is nothing to learn from, or samples and labels do not go together."""
    if not all(each.ndim for each in (*inputs, targets)):
        raise UsageError(f"{name} must have a row for every sample, got a single number.")
    lengths = [len(each) for each in inputs]
    if len(set(lengths)) > 1:
        given = " and ".join(map(str, lengths))
        raise UsageError(f"{name} must have inputs of the same length, got {given} samples.")
    if lengths[0] != len(targets):
        raise UsageError(
            f"{name} must have as many labels as samples, "
            f"got {lengths[0]} samples and {len(targets)} labels."
        )
    if not lengths[0]:
        raise UsageError(f"{name} must have at least one sample, got none.")


def check_finite(name: str, inputs: tuple[Tensor, ...], targets: Tensor) -> None:
    """Say so if no value of the samples, or of the labels, is a number."""
    for what, tensors in (("values", inputs), ("labels", (targets,))):
        if not any(each.isfinite().any() for each in tensors):
            raise UsageError(
                f"{name} must have finite {what}, got nothing but NaN and Inf "
                f"in {len(targets)} samples."
            )


def _tensor(name: str, value: Any, dtype: torch.dtype) -> Tensor:
    if isinstance(value, Tensor):
        found = value.detach()
        if found.layout is not torch.strided or found.is_meta or found.is_quantized:
            kind = "meta" if found.is_meta else str(found.layout).removeprefix("torch.")
            kind = "quantised" if found.is_quantized else kind
            raise UsageError(f"{name} must be plain tensors, got one that is {kind}.")
    else:
        try:
            found = torch.from_numpy(np.require(np.asarray(value), requirements=["C", "W"]))
        except (TypeError, ValueError, RuntimeError) as error:
            given = f"a {type(value).__name__}: {error_message(error)}"
            raise UsageError(
                f"{name} must be numbers in rows of one length, got {given}"
            ) from error
    return found.to(dtype) if found.dtype == torch.float64 else found
