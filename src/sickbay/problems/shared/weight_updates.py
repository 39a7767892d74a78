"""How far a step moves the kernels of a model, relative to their size."""

from math import nan

import numpy as np

from sickbay.problems.shared.base import History
from sickbay.vitals import Numbers, Table


def updates(history: History, table: Table) -> Numbers:
    """Return the update of each kernel relative to its size, without kernels of size 0."""
    ratios = all_updates(history, table)
    return ratios[np.isfinite(ratios)]


def all_updates(history: History, table: Table) -> Numbers:
    """Return the update of every kernel: NaN if its size is 0, inf if it overflowed."""
    return table.column("update_ratio")[history.kernels(table)]


def usual_update(history: History, table: Table) -> float:
    """Return the median update, NaN if there is none."""
    return fast_median(updates(history, table))


def inner_steps(history: History) -> float:
    """Return how many steps the optimizer may take at once, 1 for most; LBFGS takes 20.

    >>> from sickbay.vitals import Setup
    >>> inner_steps(History(Setup(settings={"lr": 1.0, "max_iter": 20.0}))), inner_steps(History())
    (20.0, 1.0)
    """
    return max(1.0, history.setup.settings.get("max_iter", 1.0))


def relative_gradients(history: History) -> Numbers:
    """Return the gradient of each kernel relative to its size, if both were read together."""
    gradient, weight = history.table("gradient"), history.table("weight")
    if gradient is None or weight is None or gradient.step != weight.step:
        return np.empty(0)
    if gradient.names != weight.names:
        return np.empty(0)
    rows = history.kernels(gradient)
    with np.errstate(all="ignore"):  # inf / inf is NaN
        ratios: Numbers = gradient.column("norm")[rows] / weight.column("norm")[rows]
    return ratios


def fast_median(ratios: Numbers) -> float:
    """Return the median, NaN if empty. Several times as fast as numpy's."""
    ordered, half = np.sort(ratios), len(ratios) // 2
    return float(ordered[half] + ordered[-1 - half]) / 2 if len(ratios) else nan
