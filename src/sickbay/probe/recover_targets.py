"""Working out the targets from the gradient of the loss, where nobody has handed them over.

For the common losses the gradient with respect to the outputs says by how much these are off, so
the targets follow from both. Whether that is right is checked: the loss computed from outputs
and these targets must be the loss that was given. For weighted or smoothed losses it is not.
"""

from __future__ import annotations

from math import floor, isfinite, log10

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

PRECISION = 5  # digits behind the first one of the largest target; behind 1, if that is smaller
CLOSE = 1e-3  # relative difference of the two losses that is still rounding


def targets(loss: str, value: Tensor, outputs: Tensor, gradient: Tensor) -> Tensor | None:
    """Return the targets that a loss of this kind and value was given; None if they do not fit.

    >>> outputs = torch.tensor([[2.0], [0.5]], requires_grad=True)
    >>> value = F.mse_loss(outputs, torch.tensor([[1.0], [3.0]]))
    >>> value.backward()
    >>> targets("mse", value, outputs.detach(), outputs.grad).tolist()
    [[1.0], [3.0]]
    """
    with torch.no_grad():
        outputs, gradient = outputs.float(), gradient.float()
        if loss == "mse":
            found = _tidy(outputs - gradient * (outputs.numel() / 2))
            return found if _agree(F.mse_loss(outputs, found), value) else None
        if loss == "bce_logits":
            found = _tidy(outputs.sigmoid() - gradient * outputs.numel())
            again = F.binary_cross_entropy_with_logits(outputs, found)
            return found if _agree(again, value) else None
        if loss == "poisson_nll":
            found = _tidy(outputs.exp() - gradient * outputs.numel())
            return found if _agree(F.poisson_nll_loss(outputs, found), value) else None
        if loss == "cross_entropy" and outputs.ndim == 2:
            shares = outputs.softmax(1) - gradient * len(outputs)
            found = shares.argmax(1)
            return found if _agree(F.cross_entropy(outputs, found), value) else None
    return None


def _tidy(found: Tensor) -> Tensor:
    """Round away what computing has left: targets that are the same must come out the same."""
    largest = float(found.abs().max())
    if not isfinite(largest):
        return found
    digits = PRECISION - max(0, floor(log10(max(largest, 1.0))))
    return found.round(decimals=digits)


def _agree(one: Tensor, other: Tensor) -> bool:
    return bool((one - other).abs() <= CLOSE * other.abs())
