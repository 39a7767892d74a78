"""A few steps of training, on a patient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from sickbay.checkups.batch import Batch

Run = Callable[[nn.Module, Batch], Any]
Judge = Callable[[Any, Batch], Tensor | None]


def training(
    model: nn.Module, batch: Batch, optimizer: torch.optim.Optimizer, run: Run, judge: Judge
) -> Iterator[float]:
    """Yield the loss on one batch again and again; a step is made when the next one is asked for.

    It ends where the loss has no gradient.
    """
    while True:
        loss = judge(run(model, batch), batch)
        if loss is None:
            return
        yield loss.item()
        if not loss.requires_grad:
            return
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        for each in model.parameters():
            if each.grad is not None and each.grad.is_sparse:
                each.grad = each.grad.to_dense()
        optimizer.step()
