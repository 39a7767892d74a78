"""Tensors inside nested values: collections, dataclasses, packed sequences and graphs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from sickbay.errors import UsageError
from sickbay.model_copies import parts_of

MAX_DEPTH = 50  # of nested lists


def mapped(
    value: Any,
    function: Callable[[Any], Any],
    kind: type = Tensor,
    of_list: Callable[[list[Any]], list[Any] | None] = lambda _: None,
    depth: int = 0,
) -> Any:
    """Apply a function to everything of a kind in a nested value.

    `of_list` may return what replaces a whole list.

    >>> mapped({"a": [1, "b"]}, lambda number: number + 1, int)
    {'a': [2, 'b']}
    """

    def inner(part: Any) -> Any:
        return mapped(part, function, kind, of_list, depth + 1)

    if depth > MAX_DEPTH:
        raise UsageError(f"batch must be nested at most {MAX_DEPTH} deep, got more.")
    if isinstance(value, kind):
        return function(value)
    if isinstance(value, list):
        replaced = of_list(value)
        return [inner(part) for part in value] if replaced is None else replaced
    if isinstance(value, PackedSequence):
        return value._replace(data=inner(value.data))
    if isinstance(value, tuple):
        parts = [inner(part) for part in value]
        if type(value) is tuple:
            return tuple(parts)
        return type(value)(*parts) if hasattr(value, "_fields") else value
    return _with_parts(value, inner)


def _with_parts(value: Any, function: Callable[[Any], Any]) -> Any:
    """Return a mapping, a dataclass or a graph with a function applied to each of its parts."""
    if type(value) is dict:
        return {name: function(part) for name, part in value.items()}
    held = parts_of(value)
    if not held or isinstance(value, type):
        return value
    new: Any = copy.copy(value)
    assign = object.__setattr__ if is_dataclass(value) else setattr  # it may be frozen
    for name, part in held.items():
        changed = function(part)
        if isinstance(value, Mapping):
            new[name] = changed
        elif changed is not part:
            assign(new, name, changed)
    return new


def to_tensor(array: NDArray[Any], dtype: torch.dtype) -> Any:
    """Return an array of numbers as a tensor."""
    if array.dtype.kind not in "fiub":
        return array
    native = array.astype(array.dtype.newbyteorder("="), order="C", copy=False)
    try:
        tensor = torch.from_numpy(native)
    except TypeError:  # such as floats of 128 bits
        possible = "arrays of a type that torch has"
        raise UsageError(f"batch must hold {possible}, got {array.dtype}.") from None
    return tensor.to(dtype) if tensor.dtype == torch.float64 else tensor


def tensors_from_arrays(value: Any, dtype: torch.dtype) -> Any:
    """Return a nested value with its arrays as tensors; double precision becomes `dtype`."""
    return mapped(value, lambda array: to_tensor(array, dtype), np.ndarray)
