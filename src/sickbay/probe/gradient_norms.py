"""Cheap looks at gradients: their norms, and a check of one small gradient at every step."""

from collections.abc import Mapping
from math import isfinite

import torch
from torch import Tensor, nn

from sickbay.probe.jump_alarm import Alarm
from sickbay.probe.statistics import plain

EXACT = {torch.float32, torch.float64}
MOST = 1024  # values of a gradient that are checked


def gradient_norms(parameters: Mapping[str, nn.Parameter]) -> list[float]:
    """Return the l2 norm of each gradient."""
    grads = [grad for each in parameters.values() if (grad := each.grad) is not None]
    if any(grad.is_sparse or grad.requires_grad or grad.dtype not in EXACT for grad in grads):
        grads = [exact(grad) for grad in grads]
    return [norm.item() for norm in torch._foreach_norm(grads)] if grads else []


def exact(tensor: Tensor) -> Tensor:
    """Return the values of a tensor as real numbers, in a precision that its norm fits into."""
    values = plain(tensor)
    return values if values.dtype in EXACT else values.float()


class SpotCheck:
    """Checks the norm of one small gradient.

    Trouble usually reaches all gradients, and checking one is cheap enough for every step of the
    fastest loop.
    """

    def __init__(self) -> None:
        self._parameter: nn.Parameter | None = None
        self._alarm = Alarm()

    def choose(self, parameters: Mapping[str, nn.Parameter]) -> None:
        """Choose the gradient to check: a small one, and a vector if possible.

        Not an embedding, most of which has no gradient in any one batch.
        """
        if self._parameter is None or not is_readable(self._parameter.grad):
            readable = [each for each in parameters.values() if is_readable(each.grad)]
            small = sorted(readable, key=lambda each: (each.ndim != 1, each.numel()))
            self._parameter = small[len(small) // 4] if small else None

    def passes(self) -> bool:
        """Return whether the gradient is finite and of its usual size; True if it is unreadable."""
        grad = None if self._parameter is None else self._parameter.grad
        if grad is None or not is_readable(grad):  # it may have changed since it was chosen
            return True
        if grad.ndim != 1 or len(grad) > MOST:
            grad = grad.reshape(-1)[:MOST]
        square = torch.dot(grad, grad).item()  # twice as fast as numpy, whose caches are cold
        return isfinite(square) and not self._alarm.rings(square)


def is_readable(grad: Tensor | None) -> bool:
    """Return whether the values of a gradient can be read from memory without conversion."""
    return (
        type(grad) is Tensor
        and grad.is_cpu
        and grad.dtype is torch.float32
        and grad.layout is torch.strided
        and grad.numel() > 0
        and not grad.requires_grad
    )
