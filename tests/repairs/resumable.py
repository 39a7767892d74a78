"""A small training run with a folder that it can be resumed from; nothing is repaired."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import sickbay
from sickbay.demo.flawed_models import circles


class Net(nn.Module):
    def __init__(self, activation: Callable[[Tensor], Tensor] = torch.relu) -> None:
        super().__init__()
        self.activation = activation
        self.first, self.last = nn.Linear(2, 8), nn.Linear(8, 1)
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.last(self.activation(self.first(x)))
        return made


def made(kind: Callable[..., nn.Module] = Net, *args: Any) -> nn.Module:
    torch.manual_seed(3)
    return kind(*args)


def with_a_lambda() -> nn.Module:
    return made(Net, lambda x: x.relu() if {"a", "b", "c"} else x)


def adam(**settings: Any) -> Callable[..., Any]:
    return lambda held: torch.optim.Adam(held, **{"lr": 3e-3, **settings})


POINTS, LABELS = circles(128)
USUAL: dict[str, Any] = {
    "loss": nn.BCEWithLogitsLoss(), "optimizer": adam(), "validation": circles(64, seed=1),
    "batch_size": 64, "epochs": 1, "remedies": [], "progress": False,
}  # fmt: skip


def run(path: Path, **more: Any) -> sickbay.Outcome:
    settings = {**USUAL, "data": (POINTS, LABELS), "model": made(), **more}
    return sickbay.fit(settings.pop("model"), settings.pop("data"), chart=path, **settings)
