"""Comparing the outputs of two passes."""

from math import inf

import torch
from torch import Tensor, nn

SMALLEST_OUTPUT = 1e-6  # counted as the size of an output that is all zero
FILL = 0.05  # standard deviation of weights that replace zeros


def difference(one: Tensor, other: Tensor) -> float:
    """Return the largest difference relative to the largest value, inf if NaN is in only one.

    >>> difference(Tensor([2.0, 0.0]), Tensor([2.0, 1.0]))
    0.5
    """
    if one.shape != other.shape:
        return inf
    one, other = one.double(), other.double()
    finite = one.isfinite()
    if not one[~finite].nan_to_num().equal(other[~finite].nan_to_num()):
        return inf
    one, other = one[finite], other[finite]
    if not one.numel():
        return 0.0
    if not other.isfinite().all():
        return inf
    return (one - other).abs().max().item() / max(one.abs().max().item(), SMALLEST_OUTPUT)


def fill_zero_weights(model: nn.Module) -> None:
    """Randomise every parameter that is all zero, in place: it would hide what comes before it.

    >>> model = nn.Linear(2, 2)
    >>> _ = nn.init.zeros_(model.bias)
    >>> fill_zero_weights(model)
    >>> bool(model.bias.any())
    True
    """
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point() and not parameter.any():
                parameter.normal_(0, FILL)
