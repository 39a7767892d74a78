"""Whether a model is sound at all, told without a checkup: it runs, and it learns its batch."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from benchmarks.checkup.case import Inputs
from benchmarks.models.all_models import every
from benchmarks.models.examine_model import made, quiet

Record = dict[str, Any]
STEPS, RATE = 40, 1e-3
LOWER = 0.99  # of the first loss


def train_a_little(name: str) -> Record:
    """Return the losses of a few steps on the batch of a model."""
    start = perf_counter()
    with quiet():
        losses = losses_of(made(every()[name]))
    return {"name": name, "losses": losses, "seconds": perf_counter() - start}


def losses_of(given: Inputs) -> list[float]:
    """Return the loss before each step with Adam, until it has fallen."""
    model = given.model.train()
    optimizer = torch.optim.Adam([each for each in model.parameters() if each.requires_grad], RATE)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(given)
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(float(loss.detach()))
        if has_fallen(losses):
            break
    return losses


def loss_of(given: Inputs) -> Tensor:
    """Return the loss as a user's own loop would compute it."""
    batch, targets = given.batch, None
    if isinstance(batch, tuple | list) and len(batch) > 1:
        *inputs, targets = batch
        batch = inputs[0] if len(inputs) == 1 else tuple(inputs)
    if isinstance(batch, dict):
        output = given.model(**batch)
    else:
        output = given.model(*batch) if isinstance(batch, tuple) else given.model(batch)
    loss: Any = output if isinstance(output, Tensor) else getattr(output, "loss", None)
    if given.loss is not None:
        loss = given.loss(output, targets)
    elif loss is None and isinstance(output, dict):
        loss = output["loss"] if "loss" in output else sum(output.values())
    if not isinstance(loss, Tensor):
        raise TypeError("the model returns no loss, and none was given")
    return loss


def learns(record: Record) -> bool:
    """Return whether the loss is finite and falls.

    >>> learns({"losses": [2.0, 1.9, 1.5]}), learns({"losses": [2.0, 2.1, float("nan")]})
    (True, False)
    """
    losses = record["losses"]
    return has_fallen(losses) and all(map(is_finite, losses))


def has_fallen(losses: list[float]) -> bool:
    return losses[-1] < losses[0] - (1 - LOWER) * abs(losses[0])


def is_finite(value: float) -> bool:
    return abs(value) < float("inf")
