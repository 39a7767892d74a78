"""Faults in inputs and labels. The tensors of the loop itself stay untouched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import nan
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from sickbay.arguments import check_float, check_iterable, check_seed
from sickbay.errors import UsageError
from sickbay.inject.injection import (
    Injection,
    ModelHook,
    When,
    check_target,
    check_value,
    with_first,
)


def nan_batch(
    model: nn.Module,
    optimizer: Optimizer,
    *,
    at: int | Sequence[int],
    every: int | None = None,
    value: float = nan,
) -> Injection:
    """Put NaN, or another `value` (inf, -inf), into one element of one batch.

    `model` is what the loop calls. Calling it without floating-point inputs raises `UsageError`.
    """
    value = check_value(value)
    return _on_inputs(
        model,
        optimizer,
        When.at_steps(at, every),
        lambda tensors: [with_first(tensors[0], value), *tensors[1:]],
    )


def scale_inputs(model: nn.Module, optimizer: Optimizer, factor: float, *, at: int) -> Injection:
    """Multiply all floating-point inputs of the model by `factor`, from a step on.

    `model` is what the loop calls. Calling it without floating-point inputs raises `UsageError`.
    """
    factor = check_float("factor", factor)
    return _on_inputs(
        model, optimizer, When.from_step(at), lambda tensors: [each * factor for each in tensors]
    )


def shuffle_labels(batches: Iterable[Any], *, at: int, seed: int = 0) -> ShuffledLabels:
    """Shuffle the labels within each batch, from a batch on.

    Labels do not pass through the model, so this wraps the batches. Wrap them once, before the loop
    over the epochs: batches are counted on from one epoch to the next. The order comes from a
    generator of its own. A batch of one has nothing to shuffle.

    Args:
        batches: Batches as the loop gets them: tuples or lists, the labels last.
        at: The first batch, counted from 0.
        seed: The seed of the generator.

    >>> batch = torch.rand(64, 2), torch.arange(64)
    >>> [y.equal(batch[1]) for x, y in shuffle_labels([batch] * 3, at=1)]
    [True, False, False]
    """
    check_iterable("batches", batches, "an iterable of batches")
    return ShuffledLabels(batches, When.from_step(at), check_seed(seed))


class ShuffledLabels:
    """Batches with shuffled labels; made by `shuffle_labels`.

    Attributes:
        step: The number of the next batch.
        steps: The first batch whose labels were shuffled.
    """

    def __init__(self, batches: Iterable[Any], when: When, seed: int) -> None:
        self.step = 0
        self.steps: list[int] = []
        self._batches, self._when = batches, when
        self._generator = torch.Generator().manual_seed(seed)

    def __len__(self) -> int:
        try:
            return len(self._batches)  # type: ignore[arg-type]
        except Exception as error:  # whatever an object without a length raises
            raise TypeError(f"{type(self._batches).__name__} has no length") from error

    def __iter__(self) -> Iterator[Any]:
        for batch in self._batches:
            step, self.step = self.step, self.step + 1
            if self._when.due(step):
                self.steps = self.steps or [step]
                yield self._shuffled(batch)
            else:
                yield batch

    def _shuffled(self, batch: Any) -> Any:
        rule = "batches must be tuples or lists whose last item is a tensor of labels"
        if not isinstance(batch, tuple | list) or len(batch) < 2:
            raise UsageError(f"{rule}, got {type(batch).__name__}.")
        *others, labels = batch
        if not isinstance(labels, Tensor) or not labels.ndim or labels.layout is not torch.strided:
            raise UsageError(f"{rule}, got {type(labels).__name__}.")
        order = torch.randperm(len(labels), generator=self._generator).to(labels.device)
        return _like(batch, [*others, labels[order]])


def _on_inputs(
    model: nn.Module,
    optimizer: Optimizer,
    when: When,
    change: Callable[[list[Tensor]], list[Tensor]],
) -> Injection:
    check_target(model, optimizer)

    def hook(fault: Injection) -> Iterator[RemovableHandle]:
        def call(*inputs: Any) -> Any:
            tensors = list(_tensors_in(inputs))
            floating = [each for each in tensors if each.is_floating_point()]
            if not floating:
                given = ", ".join(sorted({str(each.dtype) for each in tensors})) or "no tensors"
                rule = "The model must be called with floating-point inputs for a fault in them"
                raise UsageError(f"{rule}, got {given}.")
            if not fault.acts():
                return None
            return _replace(inputs, dict(zip(map(id, floating), change(floating), strict=True)))

        yield ModelHook(call).add_to(model)

    return Injection(optimizer, when, hook, once=not when.lasting)


def _tensors_in(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _tensors_in(item)


def _replace(value: Any, changed: Mapping[int, Tensor]) -> Any:
    """Return lists, tuples and dicts with some of their tensors, by id, replaced."""
    if isinstance(value, Tensor):
        return changed.get(id(value), value)
    if isinstance(value, dict):
        return {key: _replace(item, changed) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return _like(value, [_replace(item, changed) for item in value])
    return value


def _like(value: list[Any] | tuple[Any, ...], items: Sequence[Any]) -> Any:
    """Return a list, tuple or named tuple like `value`, with other items."""
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
