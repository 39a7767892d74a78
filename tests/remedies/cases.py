"""Recipes and findings for the tests of single remedies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import sickbay
from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies import Remedy
from sickbay.vitals import Setup

FOUND = Finding(problem="any", step=0)
X = torch.randn(64, 4, generator=torch.Generator().manual_seed(0))


def mlp(outputs: int = 1, *more: nn.Module) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, outputs), *more)


def recipe(
    model: nn.Module, loss: Callable[..., Tensor], targets: Tensor, **settings: Any
) -> Recipe:
    """Return a recipe for a regression on `X`, unless a setup says otherwise."""
    shape = tuple(model(X[:8]).shape)
    given: dict[str, Any] = {
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "example": (X[:8],),
        "inputs": (torch.zeros(4), torch.ones(4)),
        "targets": targets,
        "setup": Setup(
            task="regression", loss="mse", output_shape=shape, target_shape=(8, *targets.shape[1:])
        ),
    }
    return Recipe(model, loss, **given | settings)


def prescribed(remedy: Remedy, given: Recipe) -> Recipe:
    made = remedy.prescribe(FOUND, given)
    assert made is not None
    return made


def pasted(before: Recipe, after: Recipe) -> tuple[nn.Module, Callable[..., Tensor]]:
    """Run the code of a diff, as someone would who pastes it. Return its model and loss."""
    lines = [line[2:] for line in before.diff(after).splitlines() if line.startswith("+ ")]
    names: dict[str, Any] = {
        "sickbay": sickbay, "torch": torch, "nn": nn,
        "model": before.copy().model, "loss": before.loss, "x": X[:8], "y": before.targets,
    }  # fmt: skip
    exec("\n".join(lines), names)
    return names["model"], names["loss"]
