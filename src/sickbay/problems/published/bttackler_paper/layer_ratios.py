"""How the gradient changes from layer to layer."""

from itertools import pairwise
from math import inf

from sickbay.problems.shared.base import History
from sickbay.problems.shared.layer_gradients import by_kernel
from sickbay.vitals import Table


def layer_ratios(history: History, table: Table) -> dict[int, float]:
    """Return the mean absolute gradient of each kernel over that of the next one, by its row.

    It is 0 if the kernel has no gradient at all, and infinite if only the next one has none.
    """
    means = by_kernel(history, table, "mean_abs")
    return {row: _ratio(means[row], means[after]) for row, after in pairwise(means)}


def _ratio(mean: float, after: float) -> float:
    if not mean:
        return 0.0
    return mean / after if after else inf
