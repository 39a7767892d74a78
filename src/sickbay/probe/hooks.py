"""Module hooks that leave the model free to be copied and pickled, and what they are given."""

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


class Hook:
    """A hook that a copied or pickled model carries along as one that does nothing.

    It turns into a function of the standard library, so the copy needs no sickbay to be loaded.
    In an exported graph it leaves nothing.
    """

    __name__ = "sickbay_hook"  # torch asks every hook for one

    def __init__(self, guard: Guard, part: str, call: Callable[..., None]) -> None:
        self._guard, self._part, self._call = guard, part, call

    def __call__(self, *args: Any) -> None:
        if not torch.compiler.is_compiling():
            self._guard.run(self._part, self._call, *args)
        elif not is_exporting():
            self.compiled(*args)

    def compiled(self, *args: Any) -> None:
        """Become part of a compiled graph; nothing but tensor operations may happen here."""

    @property
    def __globals__(self) -> Any:  # what torch.jit.script asks for next
        raise SickbayError(NO_SCRIPT)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (nullcontext(), "__exit__")


def is_exporting() -> bool:
    """Tell whether a graph is made for `torch.export`; not known before torch 2.7.

    Not by `torch.compiler.is_exporting`: in some versions it is true of any graph that is compiled.
    """
    return getattr(torch.compiler, "_is_exporting_flag", False)


def can_be_hooked(module: nn.Module) -> bool:
    """Tell whether a module takes forward hooks; scripted ones take none."""
    return not isinstance(module, torch.jit.ScriptModule)


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


def weakly(guard: Guard, part: str, method: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a hook for a tensor that does not keep its owner alive.

    Torch holds such hooks where the garbage collector cannot see them, so an owner that holds the
    tensor in turn would never go.
    """
    owner, keeper = WeakMethod(method), ref(guard)

    def call(value: Any) -> None:
        alive, there = owner(), keeper()
        if alive is not None and there is not None:
            there.run(part, alive, value)

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
