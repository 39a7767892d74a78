"""A few training steps on one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from sickbay.checkups.batch import Batch

Run = Callable[[nn.Module, Batch], Any]
LossOf = Callable[[Any, Batch], Tensor | None]


def training_losses(
    model: nn.Module, batch: Batch, optimizer: torch.optim.Optimizer, run: Run, loss_of: LossOf
) -> Iterator[float]:
    """Yield the loss on one batch, with a training step before each further one.

    It ends when the loss has no gradient.
    """
    while True:
        loss = loss_of(run(model, batch), batch)
        if loss is None:
            return
        yield loss.item()
        if not loss.requires_grad:
            return
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        for parameter in model.parameters():
            if parameter.grad is not None and parameter.grad.is_sparse:
                parameter.grad = parameter.grad.to_dense()
        optimizer.step()
