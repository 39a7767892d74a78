"""The cheap vital signs of the gradients: their global norm, and whether they are finite at all."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import c_float
from math import hypot, isfinite

import torch
from torch import Tensor, nn

EXACT = {torch.float32, torch.float64}


def global_norm(parameters: Mapping[str, nn.Parameter], scale: float = 1.0) -> float:
    """Return the l2 norm of all gradients together, times `scale`."""
    grads = [grad for each in parameters.values() if (grad := each.grad) is not None]
    if any(grad.is_sparse or grad.requires_grad or grad.dtype not in EXACT for grad in grads):
        grads = [plain(grad) for grad in grads]
    norms = torch._foreach_norm(grads) if grads else ()
    return scale * hypot(*[norm.item() for norm in norms])


def plain(grad: Tensor) -> Tensor:
    """Return the values of a gradient in a precision that its norm fits into."""
    grad = grad.coalesce().values() if grad.is_sparse else grad.detach()
    return grad if grad.dtype in EXACT else grad.float()


class Canary:
    """One value of one gradient.

    A loss that is not finite makes it so too, and looking at it is so cheap that it can be done at
    every step of the fastest loop.
    """

    def __init__(self, parameters: Mapping[str, nn.Parameter]) -> None:
        there = [each for each in parameters.values() if is_readable(each.grad)]
        # A vector if there is one: of an embedding, only what occurred in the batch has a gradient.
        self._parameter = min(there, key=lambda each: each.ndim != 1, default=None)

    def is_alive(self) -> bool:
        """Tell whether the value is finite; True if that cannot be told cheaply."""
        grad = None if self._parameter is None else self._parameter.grad
        if grad is None or not grad.is_cpu:  # the model may have moved since
            return True
        # Read from memory: to ask torch for it would take several times as long.
        return isfinite(c_float.from_address(grad.data_ptr()).value)


def is_readable(grad: Tensor | None) -> bool:
    """Tell whether a gradient is a plain one whose first value can be read from memory."""
    return (
        type(grad) is Tensor
        and grad.is_cpu
        and grad.dtype is torch.float32
        and grad.layout is torch.strided
        and grad.numel() > 0
    )
