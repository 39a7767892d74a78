"""Comparing the outputs of two passes."""

from math import inf

import torch
from torch import Tensor, nn

SMALLEST_OUTPUT = 1e-6  # counted as the size of an output that is all zero
NUDGE, FILL = 0.02, 0.05  # standard deviations: added to weights, and in place of zeros


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


def fill_zero_weights(model: nn.Module) -> None:
    """Fill every parameter that is all zero, frozen or not: it hides what comes before it."""
    with torch.no_grad():
        for each in model.parameters():
            if each.is_floating_point() and not each.any():
                each.normal_(0, FILL)


def nudge(model: nn.Module) -> None:
    """Change all trainable weights a little, always in the same way."""
    torch.manual_seed(0)
    with torch.no_grad():
        for each in model.parameters():
            if each.requires_grad and each.is_floating_point():
                each.add_(torch.randn_like(each), alpha=NUDGE)
