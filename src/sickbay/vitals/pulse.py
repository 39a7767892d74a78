"""The cheap vital signs of the gradients: their global norm, and whether they are finite at all."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import c_float
from math import isfinite, sqrt

import torch
from torch import Tensor, nn


def global_norm(parameters: Mapping[str, nn.Parameter], scale: float = 1.0) -> float:
    """Return the l2 norm of all gradients together, times `scale`."""
    grads = [grad for each in parameters.values() if (grad := each.grad) is not None]
    if not grads:
        return 0.0
    if any(grad.is_sparse or grad.requires_grad for grad in grads):
        grads = [each.coalesce().values() if each.is_sparse else each.detach() for each in grads]
    norms = torch._foreach_norm(grads, 2, torch.float32)
    return scale * sqrt(sum(norm.item() ** 2 for norm in norms))


class Canary:
    """One value of one gradient, of a layer near the input.

    What is not finite anywhere in the forward pass makes it so too, and looking at it is so cheap
    that it can be done at every step of the fastest loop.
    """

    def __init__(self, parameters: Mapping[str, nn.Parameter]) -> None:
        there = (each for each in parameters.values() if each.grad is not None and each.numel())
        self._parameter = next(there, None)

    def is_alive(self) -> bool:
        """Tell whether the value is known to be finite."""
        grad = None if self._parameter is None else self._parameter.grad
        # Read from memory: to ask torch for it would take several times as long.
        return (
            type(grad) is Tensor
            and grad.is_cpu
            and grad.dtype is torch.float32
            and grad.layout is torch.strided
            and isfinite(c_float.from_address(grad.data_ptr()).value)
        )
