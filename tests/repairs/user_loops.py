"""A loop of one's own, and the recipe it is given."""

from typing import Any

import torch
from torch import Tensor, nn

import sickbay


def step(recipe: sickbay.Recipe, doctor: Any, inputs: Tensor, targets: Tensor) -> None:
    """Train one step as anybody does, and tell the doctor."""
    recipe.optimizer.zero_grad()
    loss = recipe.loss(recipe.model(inputs), targets)
    loss.backward()  # type: ignore[no-untyped-call]
    recipe.optimizer.step()
    doctor.step(loss)


def recipe_of(model: nn.Module, rate: float = 3e-3, epochs: int | None = None) -> sickbay.Recipe:
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    return sickbay.Recipe(model, nn.BCEWithLogitsLoss(), optimizer, epochs=epochs)
