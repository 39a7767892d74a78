"""Protecting the best trials of a search from the rules that would end them too eagerly."""

import sys
from collections.abc import Sequence
from math import isfinite

from sickbay.arguments import check_any_float, check_float, check_int, check_iterable


def is_protected(loss: float, others: Sequence[float], share: float = 0.1, least: int = 10) -> bool:
    """Tell whether a trial is among the best, so that some problems must not end it.

    It is if its training loss is within the best `share` of those that other trials had at the same
    epoch, once `least` of them have got there; between two of them the limit is interpolated. What
    it does not know: the published code goes on to protect a trial that was among the best once.

    Problems that give way to this are those whose `yields_to_the_best` is true. As in BTTackler
    (Pei et al., 2024), by its published code.

    >>> others = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 1.0, 1.1]
    >>> is_protected(0.2, others), is_protected(0.3, others)
    (True, False)
    """
    share = check_float("share", share, least=0, most=1)
    known = [check_any_float("others", each) for each in check_iterable("others", others, "losses")]
    if len(known) < check_int("least", least, least=0) or not known:
        return False
    # A trial that was lost to NaN or Inf got there too, as the worst of all.
    ranked = sorted(each if isfinite(each) else sys.float_info.max for each in known)
    place, rest = divmod(share * (len(ranked) - 1), 1)
    low, high = ranked[int(place)], ranked[min(int(place) + 1, len(ranked) - 1)]
    return check_any_float("loss", loss) <= low + rest * (high - low)
