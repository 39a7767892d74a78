"""Faults that are more than a setting: of inputs, labels, models, optimizers and steps."""

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
    """Inputs times a factor plus an offset."""

    factor: float = 1.0
    offset: float = 0.0

    def __call__(self, x: Tensor) -> Tensor:
        return x * self.factor + self.offset

    @property
    def label(self) -> str:
        return f"x{self.factor:g}" + (f"+{self.offset:g}" if self.offset else "")


class Unit:
    """Inputs between 0 and 1."""

    def __call__(self, x: Tensor) -> Tensor:
        return (x - x.min()) / (x.max() - x.min())


@dataclass(frozen=True)
class WildFeature:
    """One feature times a factor."""

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
    """A share of the training samples with every input replaced or multiplied."""

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
    """Other training labels: all of one value, or changed by a factor and an offset."""

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
    """Training labels of which every third is wrong, or values with noise."""

    def __call__(self, x: Tensor, y: Tensor) -> Batch:
        if y.is_floating_point():
            return x, y + 0.7 * torch.randn(y.shape)
        y[::3] = y.flip(0)[::3]
        return x, y


@dataclass(frozen=True)
class Jump:
    """A factor on the learning rate from one step on, for some steps."""

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
    """Batches whose inputs are multiplied, at one step and every so many after it."""

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
    """Gradients of all parameters times a factor at some backward passes."""

    factor: float
    at: tuple[int, ...]

    def __call__(self, model: nn.Module) -> None:
        for parameter in model.parameters():
            hooked(parameter, Multiply(self.factor, self.at))

    @property
    def label(self) -> str:
        return f"gradient-x{self.factor:g}"


def hooked(parameter: nn.Parameter, hook: Callable[[Tensor], None]) -> None:
    """Have a parameter's gradient changed as soon as it is complete."""
    parameter.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]


class Multiply:
    def __init__(self, factor: float, at: Container[int]) -> None:
        self.factor, self.at, self.calls = factor, at, 0

    def __call__(self, parameter: Tensor) -> None:
        if self.calls in self.at and parameter.grad is not None:
            parameter.grad.mul_(self.factor)
        self.calls += 1


def layers(model: nn.Module) -> list[nn.Module]:
    """Return the layers with weights of their own, in order."""
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
    """Something done to the layers that a word names, before training."""

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
    """Weights times a factor, and all biases set to a value."""

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
    """Make all weights negative: after a ReLU, nothing gets through."""
    with torch.no_grad():
        for parameter in layer.parameters(recurse=False):
            parameter.copy_(-parameter.abs())


def without_gradient(layer: nn.Module) -> None:
    """Let the gradients of a layer's parameters vanish by a hook."""
    for parameter in layer.parameters(recurse=False):
        hooked(parameter, Multiply(0.0, range(100_000)))


def detached(layer: nn.Module) -> None:
    """Cut the graph behind a layer, as a `.detach()` in forward does."""
    layer.register_forward_hook(lambda _layer, _inputs, out: out.detach())


def zeroed_output(layer: nn.Module) -> None:
    """Let a layer's output count only as a number: its own gradient is multiplied by 0."""
    layer.register_forward_hook(lambda _layer, _inputs, out: out * 0 + out.detach())


@dataclass(frozen=True)
class Held:
    """The parameters an optimizer gets: without a layer's, or at another rate for it."""

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
