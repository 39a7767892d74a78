"""Faults that need code: of inputs, labels, models, optimizers and steps."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from math import nan
from typing import Any

import torch
from torch import Tensor, nn

Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Scaled:
    """Scales and shifts the inputs."""

    factor: float = 1.0
    offset: float = 0.0

    def __call__(self, x: Tensor) -> Tensor:
        return x * self.factor + self.offset

    @property
    def label(self) -> str:
        return f"x{self.factor:g}" + (f"+{self.offset:g}" if self.offset else "")


class Unit:
    """Scales the inputs to 0 to 1."""

    def __call__(self, x: Tensor) -> Tensor:
        return (x - x.min()) / (x.max() - x.min())


@dataclass(frozen=True)
class WildFeature:
    """Multiplies one feature by a factor."""

    factor: float
    feature: int = -1

    def __call__(self, x: Tensor) -> Tensor:
        x = x.clone()
        x[..., self.feature] *= self.factor
        return x

    @property
    def label(self) -> str:
        return f"feature-x{self.factor:g}"


@dataclass(frozen=True)
class Some:
    """Replaces or multiplies the inputs of a fraction of the training samples."""

    share: float
    value: float = nan
    factor: float = 0.0

    def __call__(self, x: Tensor, y: Tensor) -> Batch:
        chosen = torch.arange(len(x)) % round(1 / self.share) == 3
        x[chosen] = x[chosen] * self.factor if self.factor else self.value
        return x, y

    @property
    def label(self) -> str:
        return f"outliers-x{self.factor:g}" if self.factor else f"some-{self.value:g}"


@dataclass(frozen=True)
class Labels:
    """Sets all training labels to one value, or scales and shifts them."""

    factor: float = 1.0
    offset: float = 0.0
    share: float = 1.0

    def __call__(self, x: Tensor, y: Tensor) -> Batch:
        chosen = torch.arange(len(y)) % round(1 / self.share) == 0
        y = y.clone() if y.is_floating_point() or self.factor == round(self.factor) else y.float()
        y[chosen] = (y[chosen] * self.factor + self.offset).to(y.dtype)
        return x, y

    @property
    def label(self) -> str:
        return f"labels-x{self.factor:g}+{self.offset:g}"


@dataclass(frozen=True)
class Noisy:
    """Makes every third training label wrong, or adds noise to values."""

    def __call__(self, x: Tensor, y: Tensor) -> Batch:
        if y.is_floating_point():
            return x, y + 0.7 * torch.randn(y.shape)
        y[::3] = y.flip(0)[::3]
        return x, y


@dataclass(frozen=True)
class Jump:
    """Multiplies the learning rate from one step on, for some steps."""

    at: int
    factor: float
    steps: int = 10**9

    def __call__(self, step: int) -> float:
        return self.factor if self.at <= step < self.at + self.steps else 1.0

    @property
    def label(self) -> str:
        return f"rate-x{self.factor:g}"


@dataclass(frozen=True)
class BadBatch:
    """Multiplies the inputs of the batch at one step, and at regular steps after it."""

    at: int
    factor: float
    every: int = 10**9

    def __call__(self, step: int, x: Tensor, y: Tensor) -> Batch:
        bad = step >= self.at and (step - self.at) % self.every == 0
        return (x * self.factor, y) if bad else (x, y)

    @property
    def label(self) -> str:
        return f"batch-x{self.factor:g}"


@dataclass(frozen=True)
class GradientTimes:
    """Multiplies the gradients of all parameters at some backward passes."""

    factor: float
    at: tuple[int, ...]

    def __call__(self, model: nn.Module) -> None:
        for parameter in model.parameters():
            hooked(parameter, Multiply(self.factor, self.at))

    @property
    def label(self) -> str:
        return f"gradient-x{self.factor:g}"


def hooked(parameter: nn.Parameter, hook: Callable[[Tensor], None]) -> None:
    """Change a gradient as soon as it is complete."""
    parameter.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]


class Multiply:
    def __init__(self, factor: float, at: Container[int]) -> None:
        self.factor, self.at, self.calls = factor, at, 0

    def __call__(self, parameter: Tensor) -> None:
        if self.calls in self.at and parameter.grad is not None:
            parameter.grad.mul_(self.factor)
        self.calls += 1


def layers(model: nn.Module) -> list[nn.Module]:
    """Return the layers that have weights, in order."""
    return [m for m in model.modules() if any(p.dim() > 1 for p in m.parameters(recurse=False))]


def chosen(model: nn.Module, which: str) -> list[nn.Module]:
    """Return the layers that a word names."""
    found = layers(model)
    middle = len(found) // 2
    return {
        "first": found[:1],
        "second": found[1:2],
        "middle": found[middle : middle + 1],
        "last": found[-1:],
        "hidden": found[:-1],
        "early": found[: middle + 1],
        "all": found,
    }[which]


@dataclass(frozen=True)
class Layer:
    """Changes some layers before training."""

    which: str
    does: Callable[[nn.Module], object]

    def __call__(self, model: nn.Module) -> None:
        for layer in chosen(model, self.which):
            self.does(layer)

    @property
    def label(self) -> str:
        return f"{self.which}-{getattr(self.does, 'label', getattr(self.does, '__name__', 'odd'))}"


@dataclass(frozen=True)
class Weights:
    """Multiplies the weights and sets all biases."""

    factor: float = 1.0
    bias: float | None = None

    def __call__(self, layer: nn.Module) -> None:
        with torch.no_grad():
            for parameter in layer.parameters(recurse=False):
                if parameter.dim() > 1:
                    parameter.mul_(self.factor)
                elif self.bias is not None:
                    parameter.fill_(self.bias)

    @property
    def label(self) -> str:
        bias = "" if self.bias is None else f"bias{self.bias:g}"
        return (f"x{self.factor:g}" if self.factor != 1 else "") + bias


def negative(layer: nn.Module) -> None:
    """Make all weights negative, so that a ReLU returns only zeros."""
    with torch.no_grad():
        for parameter in layer.parameters(recurse=False):
            parameter.copy_(-parameter.abs())


def without_gradient(layer: nn.Module) -> None:
    """Set the gradients of a layer to zero with a hook."""
    for parameter in layer.parameters(recurse=False):
        hooked(parameter, Multiply(0.0, range(100_000)))


def detached(layer: nn.Module) -> None:
    """Detach the output of a layer, as a `.detach()` in forward does."""
    layer.register_forward_hook(lambda _layer, _inputs, out: out.detach())


def zeroed_output(layer: nn.Module) -> None:
    """Multiply the gradient of a layer's output by 0."""
    layer.register_forward_hook(lambda _layer, _inputs, out: out * 0 + out.detach())


@dataclass(frozen=True)
class Held:
    """Leaves some layers out of the optimizer, or gives them another learning rate."""

    which: str
    factor: float | None = None

    def __call__(self, model: nn.Module, lr: float) -> list[dict[str, Any]]:
        odd = {
            id(p) for layer in chosen(model, self.which) for p in layer.parameters(recurse=False)
        }
        kept = [p for p in model.parameters() if id(p) not in odd]
        groups: list[dict[str, Any]] = [{"params": kept}]
        if self.factor is not None:
            rest = [p for p in model.parameters() if id(p) in odd]
            groups.append({"params": rest, "lr": lr * self.factor})
        return groups

    @property
    def label(self) -> str:
        return (
            f"{self.which}-forgotten"
            if self.factor is None
            else f"{self.which}-rate{self.factor:g}"
        )
