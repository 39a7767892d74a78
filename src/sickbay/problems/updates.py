"""How far steps move the kernels of a model."""

from math import nan

import numpy as np

from sickbay.history import History
from sickbay.readings import Numbers, Table


def updates(history: History, table: Table) -> Numbers:
    """Return the update of each kernel in proportion to its size, without those of size 0."""
    ratios = table.column("update_ratio")[history.kernels(table)]
    return ratios[np.isfinite(ratios)]


def usual_update(history: History, table: Table) -> float:
    """Return the median of them, NaN if there is none."""
    return middle(updates(history, table))


def middle(ratios: Numbers) -> float:
    """Return the median, NaN if there is nothing; several times as fast as numpy's."""
    ordered, half = np.sort(ratios), len(ratios) // 2
    return float(ordered[half] + ordered[-1 - half]) / 2 if len(ratios) else nan
