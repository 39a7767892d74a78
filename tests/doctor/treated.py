"""A loop to treat, and what was done to it."""

from collections.abc import Callable
from math import nan
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

import sickbay
from sickbay.doctor import Doctor

Change = Callable[[int, Optimizer, Tensor], None]


MAP = torch.randn(8, 1, generator=torch.Generator().manual_seed(7))


def regression(norm: bool = False) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(8, 32), nn.BatchNorm1d(32) if norm else nn.Identity(), nn.ReLU(), nn.Linear(32, 1)
    )


def learn(
    model: nn.Module,
    optimizer: Optimizer,
    doctor: Doctor | None,
    change: Change = lambda *_: None,
    steps: int = 200,
) -> list[float]:
    losses = []
    for step in range(steps):
        x = torch.randn(32, 8)
        y = x @ MAP
        change(step, optimizer, x)
        loss = (model(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if doctor is not None:
            doctor.step(loss)
    return losses


def treated(model: nn.Module, optimizer: Any, **options: Any) -> Doctor:
    return sickbay.watch(model, optimizer, on_finding="treat", **options)


def state_of(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def nan_at(*steps: int) -> Change:
    def spoil(step: int, _optimizer: Optimizer, x: Tensor) -> None:
        if step in steps:
            x[0, 0] = nan

    return spoil


def remedies(doctor: Doctor) -> list[str]:
    return [each.remedy for each in doctor.treatments]
