"""A small task that is learnt in a moment, or not at all, in a loop as users write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from sickbay.tuning.trial_doctor import TrialDoctor

POINTS = torch.rand(120, 2, generator=torch.Generator().manual_seed(0)) * 2 - 1
LABELS = (POINTS.norm(dim=1) < 0.8).long()  # inside a circle, or not
BATCHES = [(POINTS[first : first + 20], LABELS[first : first + 20]) for first in (0, 20, 40, 60)]


def network(rate: float) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a network and its optimizer; at a rate of 0 it learns nothing."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
    return model, torch.optim.SGD(model.parameters(), lr=rate)


def learn(model: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor) -> Tensor:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss


def accuracy(model: nn.Module) -> float:
    with torch.no_grad():
        return float((model(POINTS[80:]).argmax(1) == LABELS[80:]).float().mean())


def train(
    doctor: TrialDoctor,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    evaluate: Callable[[nn.Module], Any] = accuracy,
) -> None:
    """Train as long as the doctor lets it."""
    for _ in doctor.epochs():
        for x, y in BATCHES:
            doctor.step(learn(model, optimizer, x, y))
        doctor.epoch(val_accuracy=evaluate(model))
