"""The cheap vital signs of the gradients: their norms, and whether they are finite at all."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

import torch
from torch import Tensor, nn

from sickbay.probe.jump_alarm import Alarm

EXACT = {torch.float32, torch.float64}
MOST = 1024  # values of a gradient that are looked at


def gradient_norms(parameters: Mapping[str, nn.Parameter]) -> list[float]:
    """Return the l2 norm of each gradient."""
    grads = [grad for each in parameters.values() if (grad := each.grad) is not None]
    if any(grad.is_sparse or grad.requires_grad or grad.dtype not in EXACT for grad in grads):
        grads = [plain(grad) for grad in grads]
    return [norm.item() for norm in torch._foreach_norm(grads)] if grads else []


def plain(grad: Tensor) -> Tensor:
    """Return the values of a gradient in a precision that its norm fits into."""
    grad = grad.coalesce().values() if grad.is_sparse else grad.detach()
    if grad.is_complex():
        grad = torch.view_as_real(grad.resolve_conj())
    return grad if grad.dtype in EXACT else grad.float()


class SpotCheck:
    """The norm of one small gradient.

    What befalls all gradients befalls it too, and looking at it is so cheap that it can be done at
    every step of the fastest loop.
    """

    def __init__(self) -> None:
        self._parameter: nn.Parameter | None = None
        self._alarm = Alarm()

    def settle(self, parameters: Mapping[str, nn.Parameter]) -> None:
        """Choose the gradient to look at: a vector if there is one, small if possible.

        Of an embedding only what occurred in the batch has a gradient.
        """
        if self._parameter is None or not is_readable(self._parameter.grad):
            there = [each for each in parameters.values() if is_readable(each.grad)]
            small = sorted(there, key=lambda each: (each.ndim != 1, each.numel()))
            self._parameter = small[len(small) // 4] if small else None

    def is_alive(self) -> bool:
        """Tell whether it is finite and of its usual size; True if that cannot be told cheaply."""
        grad = None if self._parameter is None else self._parameter.grad
        if grad is None or not is_readable(grad):  # it may have become another kind since
            return True
        if grad.ndim != 1 or len(grad) > MOST:
            grad = grad.reshape(-1)[:MOST]
        square = torch.dot(grad, grad).item()  # half the price of numpy's, whose caches are cold
        return isfinite(square) and not self._alarm.rings(square)


def is_readable(grad: Tensor | None) -> bool:
    """Tell whether a gradient is a plain one whose first value can be read from memory."""
    return (
        type(grad) is Tensor
        and grad.is_cpu
        and grad.dtype is torch.float32
        and grad.layout is torch.strided
        and grad.numel() > 0
        and not grad.requires_grad
    )
