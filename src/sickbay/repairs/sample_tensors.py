"""Convert samples and labels to tensors, or say in one sentence why that is impossible."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from sickbay.errors import UsageError
from sickbay.printable import raising

KINDS = "a pair (x, y), a torch Dataset of such pairs or a DataLoader"


def pair(name: str, x: Any, y: Any, dtype: torch.dtype) -> tuple[tuple[Tensor, ...], Tensor]:
    """Convert samples and labels."""
    for what, value in (("samples", x), ("labels", y)):
        if value is None:
            raise UsageError(f"{name} must have {what}, got None; possible: {KINDS}.")
    several = isinstance(x, tuple) and all(isinstance(each, Tensor | np.ndarray) for each in x)
    inputs = tuple(_tensor(name, each, dtype) for each in (x if several else (x,)))
    targets = _tensor(name, y, dtype)
    return inputs, targets if targets.is_floating_point() else targets.long()


def batch(name: str, raw: Any, dtype: torch.dtype) -> tuple[tuple[Tensor, ...], Tensor]:
    """Convert a batch of a DataLoader. The targets come last."""
    if not isinstance(raw, tuple | list) or len(raw) < 2:
        count = f" of {len(raw)}" if isinstance(raw, tuple | list) else ""
        raise UsageError(f"{name} must give pairs (x, y), got a {type(raw).__name__}{count}.")
    *inputs, targets = raw
    nested = len(inputs) == 1 and isinstance(inputs[0], tuple | list)
    return pair(name, tuple(inputs[0]) if nested else tuple(inputs), targets, dtype)


def check_rows(name: str, inputs: tuple[Tensor, ...], targets: Tensor) -> None:
    """Raise `UsageError` unless there is one label for every sample."""
    if not all(each.ndim for each in (*inputs, targets)):
        raise UsageError(f"{name} must have a row for every sample, got a single number.")
    lengths = [len(each) for each in inputs]
    if len(set(lengths)) > 1:
        given = " and ".join(map(str, lengths))
        raise UsageError(f"{name} must have inputs of the same length, got {given} samples.")
    if lengths[0] != len(targets):
        given = f"{lengths[0]} samples and {len(targets)} labels"
        raise UsageError(f"{name} must have as many labels as samples, got {given}.")
    if not lengths[0]:
        raise UsageError(f"{name} must have at least one sample, got none.")


def check_finite(name: str, inputs: tuple[Tensor, ...], targets: Tensor) -> None:
    """Raise `UsageError` if no sample, or no label, is a finite number."""
    for what, tensors in (("values", inputs), ("labels", (targets,))):
        if not any(each.isfinite().any() for each in tensors):
            given = f"nothing but NaN and Inf in {len(targets)} samples"
            raise UsageError(f"{name} must have finite {what}, got {given}.")


def _tensor(name: str, value: Any, dtype: torch.dtype) -> Tensor:
    if isinstance(value, Tensor):
        tensor = value.detach()
        if tensor.layout is not torch.strided or tensor.is_meta or tensor.is_quantized:
            kind = "meta" if tensor.is_meta else str(tensor.layout).removeprefix("torch.")
            kind = "quantised" if tensor.is_quantized else kind
            raise UsageError(f"{name} must be plain tensors, got one that is {kind}.")
    else:
        given = f"a {type(value).__name__}"
        with raising(UsageError, f"{name} must be numbers in rows of one length, got {given}"):
            tensor = torch.from_numpy(np.require(np.asarray(value), requirements=["C", "W"]))
    return tensor.to(dtype) if tensor.dtype == torch.float64 else tensor
