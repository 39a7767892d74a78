"""Yes-or-no answers of which a yes is no 1, as in masks that were divided by 255 twice."""

from math import nan

from sickbay.history import History
from sickbay.problems.shared.small_batches import LOOK_BACK, pooled

LOGISTIC = ("bce", "bce_logits")
HALF = 0.5  # a yes above it may be smoothed
EXACT = 1e-3  # relative difference that is still rounding


def yes_below_1(history: History, least: int) -> float:
    """Return the largest target if it means yes but is too small, NaN if not.

    The targets of a logistic loss, at least as many as `least`, are all either 0 or this number
    below a half, or they are grey values that end at 1 / 255.

    >>> from sickbay.vitals import Setup
    >>> history = History(Setup(loss="bce"))
    >>> row = {"count": 64, "minimum": 0, "maximum": 0.1, "mean": 0.05, "variance": 0.0025}
    >>> history.add_table("batch", {"target": row})
    >>> yes_below_1(history, 64)
    0.1
    """
    target = pooled(history.tables("batch", LOOK_BACK), "target")
    if history.setup.loss not in LOGISTIC or not target or target["minimum"] != 0:
        return nan
    mean, high = target["mean"], target["maximum"]
    if not target["count"] >= least or not 0 < mean < high:
        return nan
    two = abs(target["variance"] / (mean * (high - mean)) - 1) < EXACT
    return high if (two and high < HALF) or abs(255 * high - 1) < EXACT else nan
