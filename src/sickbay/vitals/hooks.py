"""Module hooks that leave the model free to be copied and pickled, and what they are given."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from weakref import WeakMethod

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle


class Hook:
    """A hook that a copied or pickled model carries along as one that does nothing.

    It turns into a function of the standard library, so the copy needs no sickbay to be loaded.
    """

    def __init__(self, call: Callable[..., None]) -> None:
        self.call = call

    def __call__(self, *args: Any) -> None:
        self.call(*args)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (nullcontext(), "__exit__")


def unwrap(model: nn.Module) -> nn.Module:
    """Return the module that `torch.compile` wrapped, or the model itself."""
    inner = getattr(model, "_orig_mod", model)
    return inner if isinstance(inner, nn.Module) else model


class Handles:
    """Hooks that are removed together."""

    def __init__(self) -> None:
        self._handles: list[RemovableHandle] = []

    def add(self, handle: RemovableHandle) -> None:
        self._handles.append(handle)

    def __bool__(self) -> bool:
        return bool(self._handles)

    def remove(self) -> None:
        while self._handles:
            self._handles.pop().remove()


def weakly(method: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a hook for a tensor that does not keep its owner alive.

    Torch holds such hooks where the garbage collector cannot see them, so an owner that holds the
    tensor in turn would never go.
    """
    reference = WeakMethod(method)

    def call(value: Any) -> None:
        if (alive := reference()) is not None:
            alive(value)

    return call


def is_transformed() -> bool:
    """Tell whether this runs inside `torch.func` or a trace, where tensors hold no numbers."""
    return torch._C._is_tracing() or torch._C._functorch.peek_interpreter_stack() is not None


def first_tensor(output: Any) -> Tensor | None:
    """Return the first floating-point tensor in what a layer put out."""
    if isinstance(output, Tensor):
        return output if output.is_floating_point() else None
    if isinstance(output, dict):
        output = tuple(output.values())
    if isinstance(output, tuple | list):
        return next((found for item in output if (found := first_tensor(item)) is not None), None)
    return None
