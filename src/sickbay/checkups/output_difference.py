"""How far two outputs are apart."""

from math import inf

from torch import Tensor

LEAST = 1e-6  # what counts as the size of an output that is zero


def difference(one: Tensor, other: Tensor) -> float:
    """Return the largest difference, as a multiple of the largest value; infinite for NaN in one.

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
    return (one - other).abs().max().item() / max(one.abs().max().item(), LEAST)
