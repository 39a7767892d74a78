"""Faults in weights. What was changed stays changed when the block ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import nan
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from sickbay.arguments import check_choice
from sickbay.inject.injection import Injection, ModelHook, When
from sickbay.inject.places import always_used, check_target, check_value, clear_momentum

# So far below zero ReLU and GELU put out zero; lower would look like a layer that explodes.
DEAD = -8.0


def nan_weight(
    model: nn.Module,
    optimizer: Optimizer,
    *,
    at: int | Sequence[int],
    every: int | None = None,
    layer: str | None = None,
    value: float = nan,
) -> Injection:
    """Put a NaN into one value of one weight, before the forward pass of the step.

    The weight stays changed when the block ends.

    Args:
        model: The model, as the loop calls it.
        optimizer: Its optimizer, whose steps are counted.
        at: The step or steps, counted from 0 when the block begins.
        every: Again every so many steps after the first.
        layer: The layer, named as in `named_modules`; the first that is no embedding if not given.
        value: NaN, inf or -inf.
    """
    value, weight = check_value(value), always_used(check_target(model, optimizer), layer)

    def spoil() -> None:
        weight[(0,) * weight.ndim] = value

    return _OnWeights(model, optimizer, When.at_steps(at, every), spoil)


def dead_layer(model: nn.Module, optimizer: Optimizer, *, layer: str, at: int) -> Injection:
    """Kill a layer: from that step on it puts out only zeros after its ReLU.

    Its weight becomes 0 and its bias, if it has one, negative; the optimizer forgets its momentum.
    No gradient brings it back. It stays dead when the block ends. If a normalisation stands between
    the layer and the ReLU, name the normalisation.

    Args:
        model: The model, as the loop calls it.
        optimizer: Its optimizer, whose steps are counted.
        layer: The layer, named as in `named_modules`; one that has a weight of its own.
        at: The step, counted from 0 when the block begins.
    """
    modules = dict(check_target(model, optimizer).named_modules())
    possible = [name for name, module in modules.items() if weight_of(module) is not None]
    check_choice("layer with a weight of its own", layer, possible)
    weight, bias = weight_of(modules[layer]), weight_of(modules[layer], "bias")

    def kill() -> None:
        for parameter, level in ((weight, 0.0), (bias, DEAD)):
            if parameter is not None:
                parameter.fill_(level)
                clear_momentum(optimizer, parameter)

    return _OnWeights(model, optimizer, When.at_steps(at), kill)


def weight_of(module: nn.Module, name: str = "weight") -> nn.Parameter | None:
    """Return a parameter of the module itself."""
    return dict(module.named_parameters(recurse=False)).get(name)


class _OnWeights(Injection):
    def __init__(
        self, model: nn.Module, optimizer: Optimizer, when: When, change: Callable[[], None]
    ) -> None:
        super().__init__(optimizer, when, once=True)
        self._model, self._change = model, change

    def hook(self) -> Iterator[RemovableHandle]:
        yield ModelHook(self._called).into(self._model)

    def _called(self, *_: Any) -> None:
        if self.acts():
            with torch.no_grad():
                self._change()
