"""Leaving a model as it was, where it cannot be copied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def kept(model: nn.Module) -> Iterator[None]:
    """Put weights, buffers, gradients and modes back afterwards, in place."""
    tensors = [*model.parameters(), *model.buffers()]
    values = [each.detach().clone() for each in tensors]
    wanted = [(each, each.requires_grad, each.grad) for each in model.parameters()]
    modes = [(module, module.training) for module in model.modules()]
    for each, _, _ in wanted:
        each.grad = None
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, value in zip(tensors, values, strict=True):
                tensor.copy_(value)
        for each, needed, gradient in wanted:
            each.requires_grad_(needed)
            each.grad = gradient
        for module, training in modes:
            module.training = training
