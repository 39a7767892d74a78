"""Comparing the outputs of two passes."""

from math import inf

import torch
from torch import Tensor, nn

SMALLEST_OUTPUT = 1e-6  # counted as the size of an output that is all zero
NUDGE = 0.02  # standard deviation of what is added to weights


def difference(one: Tensor, other: Tensor) -> float:
    """Return the largest difference relative to the largest value, inf if NaN is in only one.

    >>> difference(Tensor([2.0, 0.0]), Tensor([2.0, 1.0]))
    0.5
    """
    if one.shape != other.shape:
        return inf
    one, other = one.double(), other.double()
    finite = one.isfinite()
    same = one[~finite].nan_to_num().equal(other[~finite].nan_to_num())
    if not same or not other[finite].isfinite().all():
        return inf
    one, other = one[finite], other[finite]
    if not one.numel():
        return 0.0
    return (one - other).abs().max().item() / max(one.abs().max().item(), SMALLEST_OUTPUT)


def nudge(model: nn.Module) -> None:
    """Change all trainable weights a little: those that start at zero hide what is before them.

    The change is always the same.
    """
    torch.manual_seed(0)
    with torch.no_grad():
        for each in model.parameters():
            if each.requires_grad and each.is_floating_point():
                each.add_(torch.randn_like(each), alpha=NUDGE)
