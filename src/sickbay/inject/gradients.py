"""Faults in gradients. They come in during backward, so whoever reads gradients later sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import nan

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from sickbay.arguments import check_float
from sickbay.inject.injection import Injection, When
from sickbay.inject.places import check_target, check_value, spoilt, trainable


def scale_gradients(
    model: nn.Module,
    optimizer: Optimizer,
    factor: float,
    *,
    at: int | Sequence[int],
    every: int | None = None,
    layers: str | Sequence[str] | None = None,
) -> Injection:
    """Multiply gradients: an explosion (x 20) or a collapse (x 1e-8).

    Args:
        model: The model.
        optimizer: Its optimizer, whose steps are counted.
        factor: What gradients are multiplied by.
        at: The step or steps, counted from 0 when the block begins.
        every: Again every so many steps after the first.
        layers: A layer or several, named as in `named_modules`; all if not given.
    """
    factor = check_float("factor", factor)
    parameters = trainable(check_target(model, optimizer), layers)
    return _OnGradients(
        optimizer, When.at_steps(at, every), parameters, lambda gradient: gradient * factor
    )


def nan_gradient(
    model: nn.Module,
    optimizer: Optimizer,
    *,
    at: int | Sequence[int],
    every: int | None = None,
    layer: str | None = None,
    value: float = nan,
) -> Injection:
    """Put a NaN into one value of one gradient, the first that backward brings.

    Args:
        model: The model.
        optimizer: Its optimizer, whose steps are counted.
        at: The step or steps, counted from 0 when the block begins.
        every: Again every so many steps after the first.
        layer: The layer, named as in `named_modules`; any if not given.
        value: NaN, inf or -inf.
    """
    value = check_value(value)
    parameters = trainable(check_target(model, optimizer), layer)
    return _OnGradients(
        optimizer, When.at_steps(at, every), parameters, lambda each: spoilt(each, value), once=True
    )


def freeze_layer(model: nn.Module, optimizer: Optimizer, *, layer: str, at: int) -> Injection:
    """Give a layer a gradient of exactly zero, from a step on.

    Momentum and weight decay of the optimizer still move it.

    Args:
        model: The model.
        optimizer: Its optimizer, whose steps are counted.
        layer: The layer, named as in `named_modules`.
        at: The first step, counted from 0 when the block begins.
    """
    parameters = trainable(check_target(model, optimizer), layer)
    return _OnGradients(optimizer, When.from_step(at), parameters, torch.zeros_like)


class _OnGradients(Injection):
    def __init__(
        self,
        optimizer: Optimizer,
        when: When,
        parameters: Sequence[nn.Parameter],
        change: Callable[[Tensor], Tensor],
        once: bool = False,
    ) -> None:
        super().__init__(optimizer, when, once)
        self._parameters, self._change = parameters, change

    def hook(self) -> Iterator[RemovableHandle]:
        # Called before the gradient is added to `.grad`, so of several batches that make up one
        # step each is changed, and none twice.
        for each in self._parameters:
            yield each.register_hook(self._arrived)  # type: ignore[no-untyped-call]

    def _arrived(self, gradient: Tensor) -> Tensor | None:
        return self._change(gradient) if self.acts() else None
