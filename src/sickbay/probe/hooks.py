"""Hooks that do not keep a model from being copied and pickled, and help with their arguments."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from weakref import WeakMethod, ref

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from sickbay.errors import SickbayError
from sickbay.probe.guard import Guard

NO_SCRIPT = "torch.jit.script cannot compile a model that is watched; call doctor.close() first."

# Where a module keeps its hooks.
FORWARD_HOOKS = ("_forward_pre_hooks", "_forward_hooks")
HOOKS = (*FORWARD_HOOKS, "_backward_pre_hooks", "_backward_hooks")


class Hook:
    """A module hook that does nothing in copied, pickled and exported models.

    A copy holds a function of the standard library instead, and loads without sickbay.
    """

    __name__ = "sickbay_hook"  # required by torch

    def __init__(self, guard: Guard, part: str, call: Callable[..., None]) -> None:
        self._guard, self._part, self._call = guard, part, call

    def __call__(self, *args: Any) -> None:
        if not torch.compiler.is_compiling():
            self._guard.run(self._part, self._call, *args)
        elif not is_exporting():
            self.compiled(*args)

    def compiled(self, *args: Any) -> None:
        """Run as part of a compiled graph, where only tensor operations are possible."""

    @property
    def __globals__(self) -> Any:  # torch.jit.script reads this
        raise SickbayError(NO_SCRIPT)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (nullcontext(), "__exit__")


def is_exporting() -> bool:
    """Return whether `torch.export` is tracing; False before torch 2.7, which cannot tell.

    `torch.compiler.is_exporting` does not help: in some versions it is True while compiling.
    """
    return getattr(torch.compiler, "_is_exporting_flag", False)


def can_be_hooked(module: nn.Module) -> bool:
    """Return whether a module accepts forward hooks; scripted modules do not."""
    return not isinstance(module, torch.jit.ScriptModule)


class Handles:
    """Handles of hooks that are removed together."""

    def __init__(self) -> None:
        self._handles: list[RemovableHandle] = []

    def add(self, handle: RemovableHandle) -> None:
        self._handles.append(handle)

    def __bool__(self) -> bool:
        return bool(self._handles)

    def remove(self) -> None:
        while self._handles:
            self._handles.pop().remove()


def weakly(guard: Guard, part: str, method: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a tensor hook that does not keep the owner of its method alive.

    Torch keeps tensor hooks where the garbage collector cannot see them, so an owner that holds
    the tensor would never be freed.
    """
    weak_method, weak_guard = WeakMethod(method), ref(guard)

    def call(value: Any) -> None:
        alive, keeper = weak_method(), weak_guard()
        if alive is not None and keeper is not None:
            keeper.run(part, alive, value)

    return call


def is_transformed() -> bool:
    """Return whether this runs inside `torch.func` or a trace, where tensors have no values."""
    return torch._C._is_tracing() or torch._C._functorch.peek_interpreter_stack() is not None


def first_tensor(output: Any) -> Tensor | None:
    """Return the first floating-point tensor in a nested output."""
    if isinstance(output, Tensor):
        return output if output.is_floating_point() else None
    if isinstance(output, dict):
        output = tuple(output.values())
    if isinstance(output, tuple | list):
        return next((found for item in output if (found := first_tensor(item)) is not None), None)
    return None
