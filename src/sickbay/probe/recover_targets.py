"""Work out the targets from the gradient of the loss, where the loop does not pass them.

For common losses, the gradient with respect to the outputs shows how far these are off, so the
targets follow from both. As a check, the loss of the outputs and these targets must be the loss
that was observed; for weighted or smoothed losses it is not.
"""

from math import floor, isfinite, log10
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

PRECISION = 5  # decimals kept for targets below 10; one fewer for each digit more before the point
ONE_HOT = 0.02  # difference from 0 or 1 that is still rounding
CLOSE = 1e-3  # relative difference of the two losses that is still rounding

# For each loss, its function and how to compute the targets from the outputs, their gradient and
# their count.
RECOVER: dict[str, tuple[Any, Any]] = {
    "mse": (F.mse_loss, lambda outputs, gradient, n: outputs - gradient * (n / 2)),
    "bce_logits": (
        F.binary_cross_entropy_with_logits,
        lambda outputs, gradient, n: outputs.sigmoid() - gradient * n,
    ),
    "bce": (
        F.binary_cross_entropy,
        lambda outputs, gradient, n: outputs - gradient * n * outputs * (1 - outputs),
    ),
    "poisson_nll": (F.poisson_nll_loss, lambda outputs, gradient, n: outputs.exp() - gradient * n),
}


def targets(loss: str, value: Tensor, outputs: Tensor, gradient: Tensor) -> Tensor | None:
    """Return the targets that give a loss of this kind and value, None if there are none.

    >>> outputs = torch.tensor([[2.0], [0.5]], requires_grad=True)
    >>> value = F.mse_loss(outputs, torch.tensor([[1.0], [3.0]]))
    >>> value.backward()
    >>> targets("mse", value, outputs.detach(), outputs.grad).tolist()
    [[1.0], [3.0]]
    """
    with torch.no_grad():
        outputs, gradient = outputs.float(), gradient.float()
        if loss == "cross_entropy" and outputs.ndim == 2:
            function: Any = F.cross_entropy
            found = (outputs.softmax(1) - gradient * len(outputs)).argmax(1)
        elif loss in RECOVER:
            function, recover = RECOVER[loss]
            found = rounded(recover(outputs, gradient, outputs.numel()))
        else:
            return None
        if loss == "bce":
            if not bool(((found > -ONE_HOT) & (found < 1 + ONE_HOT)).all()):  # NaN is neither
                return None
            found = found.clamp(0, 1)
        off = (function(outputs, found) - value).abs()
        return found if bool(off <= CLOSE * value.abs()) else None


def stand_ins(value: Tensor, outputs: Tensor, gradient: Tensor) -> Tensor | None:
    """Return targets like those that a squared error compares with every output, None if none are.

    Where it broadcasts outputs and targets, only the mean and the variance of the targets matter:
    the gradient shows the same target for all outputs, the mean, and the loss is larger by the
    variance. So these targets have that mean and variance.

    >>> outputs = torch.tensor([[0.0], [0.0]], requires_grad=True)
    >>> value = ((outputs - torch.tensor([3.0, 5.0])) ** 2).mean()
    >>> value.backward()
    >>> stand_ins(value.detach(), outputs.detach(), outputs.grad).tolist()
    [[3.0], [5.0]]
    """
    with torch.no_grad():
        outputs, gradient = outputs.float(), gradient.float()
        found = outputs - gradient * (outputs.numel() / 2)
        mean, variance = found.mean(), value - F.mse_loss(outputs, found)
        spread = variance.clamp(min=0).sqrt()
        off = (found - mean).abs().max()
        enough = bool(variance > CLOSE * value) and len(found) > 1
        if not enough or not bool(off <= CLOSE * (mean.abs() + spread)):
            return None
        signs = torch.ones_like(found)
        signs[::2] = -1
        return mean + signs * spread


def classes(outputs: Tensor, gradient: Tensor, samples: int) -> Tensor | None:
    """Return the classes of the rows of a cross-entropy over `samples` rows, None if it is another.

    The gradient of a row is its softmax less its one-hot target, so no loss is needed as a check,
    and some rows are enough.

    >>> outputs = torch.tensor([[2.0, 0.5], [0.1, 0.3], [1.0, 1.0]], requires_grad=True)
    >>> F.cross_entropy(outputs, torch.tensor([1, 0, 1])).backward()
    >>> classes(outputs.detach()[:2], outputs.grad[:2], 3).tolist()
    [1, 0]
    """
    with torch.no_grad():
        found = outputs.float().softmax(1) - gradient.float() * samples
        near = found.round()
        exact = bool(((found - near).abs() < ONE_HOT).all()) and bool((near.sum(1) == 1).all())
        return near.argmax(1) if exact else None


def rounded(found: Tensor) -> Tensor:
    """Round away numerical noise, so that equal targets come out equal."""
    largest = float(found.abs().max())
    if not isfinite(largest):
        return found
    digits = PRECISION - max(0, floor(log10(max(largest, 1.0))))
    return found.round(decimals=digits)
