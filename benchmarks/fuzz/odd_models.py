"""A sound model and optimizer, and odd ones of many kinds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Optimizer

from benchmarks.fuzz.verdict import Mine

FEATURES, CLASSES, SAMPLES = 3, 2, 12


def sound() -> nn.Module:
    return nn.Sequential(
        nn.Linear(FEATURES, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.1), nn.Linear(4, CLASSES)
    )


def optimizer_of(model: nn.Module) -> Optimizer:
    held = [each for each in model.parameters() if each.requires_grad]
    return SGD(held or [nn.Parameter(torch.ones(2))], lr=0.1)


def batch(samples: int = SAMPLES) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(samples, FEATURES, generator=generator), torch.arange(samples) % CLASSES


class Forward(nn.Module):
    """A linear layer with any forward pass."""

    def __init__(self, forward: Callable[..., Any]) -> None:
        super().__init__()
        self.layer = nn.Linear(FEATURES, CLASSES)
        self.way = forward

    def forward(self, x: Any) -> Any:
        return self.way(self.layer, x)


def raising(*_: Any, **__: Any) -> Any:
    raise Mine("forward")


class Locked(Forward):
    """Cannot be copied."""

    def __init__(self) -> None:
        super().__init__(lambda layer, x: layer(x))
        self.lock = threading.Lock()


class OddNames(nn.Module):
    """Layers whose names contain terminal escapes."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({"\x1b[31m": nn.Linear(FEATURES, 3), "[/red]": nn.Linear(3, 2)})

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers.values():
            x = layer(x)
        return x


class RaisesOnRepr(nn.Linear):
    """Raises when printed."""

    def __repr__(self) -> str:
        raise Mine("repr")


class NoParameters(nn.Linear):
    """Raises when asked for its parameters."""

    def named_parameters(self, *_: Any, **__: Any) -> Any:
        raise Mine("named_parameters")


def frozen() -> nn.Module:
    model = sound()
    for each in model.parameters():
        each.requires_grad_(False)
    return model


def shared() -> nn.Module:
    layer = nn.Linear(FEATURES, FEATURES)
    return nn.Sequential(layer, layer, nn.Linear(FEATURES, CLASSES))


def with_nan() -> nn.Module:
    model = nn.Linear(FEATURES, CLASSES)
    nn.init.constant_(model.weight, float("nan"))
    return model


MODELS: dict[str, Callable[[], Any]] = {
    "sound model": sound,
    "identity": nn.Identity,
    "bare module": nn.Module,
    "empty sequential": nn.Sequential,
    "module list": lambda: nn.ModuleList([nn.Linear(FEATURES, CLASSES)]),
    "lazy": lambda: nn.LazyLinear(CLASSES),
    "model on meta": lambda: nn.Linear(FEATURES, CLASSES, device="meta"),
    "complex model": lambda: nn.Linear(FEATURES, CLASSES, dtype=torch.complex64),
    "double model": lambda: nn.Linear(FEATURES, CLASSES, dtype=torch.float64),
    "half model": lambda: nn.Linear(FEATURES, CLASSES, dtype=torch.float16),
    "scripted": lambda: torch.jit.script(nn.Linear(FEATURES, CLASSES)),
    "frozen": frozen,
    "shared": shared,
    "empty layer": lambda: nn.Linear(FEATURES, 0),
    "other features": lambda: nn.Linear(FEATURES + 4, CLASSES),
    "embedding": lambda: nn.Embedding(5, CLASSES, sparse=True),
    "recurrent": lambda: nn.LSTM(FEATURES, CLASSES),
    "raising forward": lambda: Forward(raising),
    "forward to None": lambda: Forward(lambda *_: None),
    "forward to a dict": lambda: Forward(lambda layer, x: {"out": layer(x), "x": None}),
    "forward to text": lambda: Forward(lambda *_: "x"),
    "forward to complex": lambda: Forward(lambda layer, x: layer(x) * 1j),
    "forward to whole": lambda: Forward(lambda layer, x: layer(x).long()),
    "forward without grad": lambda: Forward(lambda layer, x: layer(x).detach()),
    "forward to sparse": lambda: Forward(lambda layer, x: layer(x).to_sparse()),
    "locked": Locked,
    "odd names": OddNames,
    "model raises on repr": lambda: RaisesOnRepr(FEATURES, CLASSES),
    "no parameters": lambda: NoParameters(FEATURES, CLASSES),
    "nan weights": with_nan,
    "transformer layer": lambda: nn.TransformerEncoderLayer(4, 2, 4),
}


class OddOptimizer(Optimizer):
    """Has no learning rate and does nothing."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, {})

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        del closure


def emptied() -> Optimizer:
    optimizer = SGD(nn.Linear(2, 2).parameters(), lr=0.1)
    optimizer.param_groups.append({**optimizer.param_groups[0], "params": []})
    return optimizer


def groupless() -> Optimizer:
    optimizer = SGD(nn.Linear(2, 2).parameters(), lr=0.1)
    optimizer.param_groups.clear()
    return optimizer


def tensor_rate() -> Optimizer:
    return SGD(nn.Linear(2, 2).parameters(), lr=torch.tensor(0.1))


OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "optimizer of others": lambda: SGD(nn.Linear(2, 2).parameters(), lr=0.1),
    "optimizer with an empty group": emptied,
    "optimizer without groups": groupless,
    "optimizer with a tensor as rate": tensor_rate,
    "LBFGS": lambda: torch.optim.LBFGS(nn.Linear(2, 2).parameters(), max_iter=2),
    "odd optimizer": lambda: OddOptimizer(nn.Linear(2, 2).parameters()),
    "class of optimizers": lambda: SGD,
    "two optimizers": lambda: [SGD(nn.Linear(2, 2).parameters(), lr=0.1) for _ in range(2)],
    "one optimizer twice": lambda: [SGD(nn.Linear(2, 2).parameters(), lr=0.1)] * 2,
}
