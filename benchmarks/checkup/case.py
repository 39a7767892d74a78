"""Models to examine, sound or with one fault, and lists of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from sickbay.checkups.model_losses import Loss

Half = Literal["calibration", "reporting"]
HALVES: tuple[Half, Half] = ("calibration", "reporting")


@dataclass(frozen=True, eq=False)
class Inputs:
    """The arguments of a checkup."""

    model: nn.Module
    batch: Any = None
    loss: Loss | None = None
    optimizer: torch.optim.Optimizer | None = None
    validation: Any = None


@dataclass(frozen=True)
class Case:
    """A model to examine.

    Attributes:
        name: A unique, readable name.
        test: The test that should find the fault; empty if the model is sound.
        half: Limits were set on the calibration half. Figures use the reporting half.
        make: Creates new inputs for a checkup.
    """

    name: str
    test: str
    half: Half
    make: Callable[[], Inputs]


Make = Callable[[], Inputs]


class CaseList:
    """Cases of one half, registered by decorating the functions that create them."""

    def __init__(self, half: Half = "calibration") -> None:
        self.half = half
        self.all: list[Case] = []

    def sound(self, name: str) -> Callable[[Make], Make]:
        return self._named(f"sound/{name}", "")

    def fault(self, test: str, name: str) -> Callable[[Make], Make]:
        return self._named(f"{test}/{name}", test)

    def add(self, test: str, name: str, make: Make) -> None:
        """Register a fault without a decorator."""
        self.fault(test, name)(make)

    def _named(self, name: str, test: str) -> Callable[[Make], Make]:
        def register(make: Make) -> Make:
            self.all.append(Case(name, test, self.half, make))
            return make

        return register


class Net(nn.Module):
    """Named layers, and a function for the forward pass: `run(net, *inputs)`.

    >>> Net(lambda net, x: net.last(x).relu(), last=nn.Linear(2, 3))(torch.ones(4, 2)).shape
    torch.Size([4, 3])
    """

    def __init__(self, run: Callable[..., Any], **layers: nn.Module) -> None:
        super().__init__()
        self.run = run
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, *inputs: Any) -> Any:
        return self.run(self, *inputs)
