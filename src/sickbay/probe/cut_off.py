"""Tell from the gradient whether a loss cuts outputs off at 0 and 1, as if they were shares."""

from math import nan

import torch
from torch import Tensor

FEW = 8  # outputs needed just below 0, between 0 and 1, and above 1
NEAR = 0.5  # a margin loss gives no gradient far outside of 0 to 1; a clamp does not just outside
EQUAL = 0.01  # of a value: how far the factors of logarithms may differ


def share_cut_off(outputs: Tensor, gradient: Tensor) -> float:
    """Return the share of outputs outside 0 to 1 if only these get no gradient, NaN if unknown.

    If hardly any are above 1, the loss must take logarithms.

    >>> import torch
    >>> outputs = torch.linspace(-1, 2, 60, requires_grad=True)
    >>> outputs.clamp(0.01, 0.99).log().sum().backward()
    >>> round(share_cut_off(outputs.detach(), outputs.grad), 2)
    0.67
    """
    below, outside = outputs < 0, (outputs < 0) | (outputs > 1)
    inside = (outputs > NEAR / 10) & (outputs < 1 - NEAR / 10)
    near, above = below & (outputs > -NEAR), outside & ~below
    if min(int(near.sum()), int(inside.sum())) < FEW:
        return nan
    if int(above.sum()) < FEW and not _is_of_logarithms(outputs[inside], gradient[inside]):
        return nan
    idle = gradient == 0
    cut = bool(idle[outside].all()) and not bool(idle[inside].any())
    return float(outside.double().mean()) if cut else 0.0


def _is_of_logarithms(shares: Tensor, gradient: Tensor) -> bool:
    """Return whether this is the gradient of the logarithms of shares, or of what they leave."""
    factors = torch.where(gradient < 0, -gradient * shares, gradient * (1 - shares))
    return bool(factors.min() > (1 - EQUAL) * factors.max() > 0)
