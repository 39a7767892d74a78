"""Protecting the best trials of a search from problems that would end them too eagerly."""

import sys
from collections.abc import Sequence
from math import isfinite


def is_protected(loss: float, others: Sequence[float], share: float = 0.1, least: int = 10) -> bool:
    """Return whether a trial is among the best, so that some problems must not end it.

    It is if its training loss is within the best `share` of the losses that other trials had at the
    same epoch, once `least` of them have got there. Between two losses the limit is interpolated.
    It protects trials from problems with `yields_to_the_best`, as in the code published with
    BTTackler (Pei et al., 2024), which also protects trials that were among the best once.

    >>> others = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 1.0, 1.1]
    >>> is_protected(0.2, others), is_protected(0.3, others)
    (True, False)
    """
    if len(others) < max(least, 1):
        return False
    # A trial lost to NaN or Inf got there too, as the worst of all.
    ranked = sorted(each if isfinite(each) else sys.float_info.max for each in others)
    place, rest = divmod(share * (len(ranked) - 1), 1)
    low, high = ranked[int(place)], ranked[min(int(place) + 1, len(ranked) - 1)]
    return loss <= low + rest * (high - low)
