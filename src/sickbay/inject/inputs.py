"""Faults in the inputs of training passes. The tensors of the loop itself stay untouched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import nan
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from sickbay.arguments import check_float
from sickbay.errors import UsageError
from sickbay.inject.injection import Injection, ModelHook, When
from sickbay.inject.places import check_target, check_value, rebuilt, spoilt


def nan_batch(
    model: nn.Module,
    optimizer: Optimizer,
    *,
    at: int | Sequence[int],
    every: int | None = None,
    value: float = nan,
) -> Injection:
    """Put a NaN into one value of one batch.

    The first call of the model with inputs that are not floating-point raises `UsageError`.

    Args:
        model: The model, as the loop calls it.
        optimizer: Its optimizer, whose steps are counted.
        at: The step or steps, counted from 0 when the block begins.
        every: Again every so many steps after the first.
        value: NaN, inf or -inf.
    """
    value = check_value(value)
    return _OnInputs(
        model, optimizer, When.at_steps(at, every), lambda each: [spoilt(each[0], value), *each[1:]]
    )


def scale_inputs(model: nn.Module, optimizer: Optimizer, factor: float, *, at: int) -> Injection:
    """Multiply the inputs of the model, from a step on.

    The first call of the model with inputs that are not floating-point raises `UsageError`.

    Args:
        model: The model, as the loop calls it.
        optimizer: Its optimizer, whose steps are counted.
        factor: What all floating-point inputs are multiplied by.
        at: The first step, counted from 0 when the block begins.
    """
    factor = check_float("factor", factor)
    return _OnInputs(
        model, optimizer, When.from_step(at), lambda tensors: [each * factor for each in tensors]
    )


class _OnInputs(Injection):
    def __init__(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        when: When,
        change: Callable[[list[Tensor]], list[Tensor]],
    ) -> None:
        super().__init__(optimizer, when, once=not when.lasting)
        check_target(model, optimizer)
        self._model, self._change = model, change

    def hook(self) -> Iterator[RemovableHandle]:
        yield ModelHook(self._called).into(self._model)

    def _called(self, args: Any, kwargs: Any) -> Any:
        tensors = list(tensors_in((args, kwargs)))
        floating = [each for each in tensors if each.is_floating_point()]
        if not floating:
            given = ", ".join(sorted({str(each.dtype) for each in tensors})) or "no tensors"
            raise UsageError(
                "The model must be called with floating-point inputs for a fault in them, "
                f"got {given}."
            )
        if not self.acts():
            return None
        changed = zip(map(id, floating), self._change(floating), strict=True)
        return replaced((args, kwargs), dict(changed))


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Yield the tensors in lists, tuples and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(item)


def replaced(value: Any, changed: Mapping[int, Tensor]) -> Any:
    """Return lists, tuples and dicts with some of their tensors, by id, replaced."""
    if isinstance(value, Tensor):
        return changed.get(id(value), value)
    if isinstance(value, dict):
        return {key: replaced(item, changed) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return rebuilt(value, [replaced(item, changed) for item in value])
    return value
