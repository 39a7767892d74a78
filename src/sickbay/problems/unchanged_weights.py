from dataclasses import dataclass

import numpy as np

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.base import Problem
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class UnchangedWeights(Problem):
    """Some layers do not change at all, though the optimizer holds them and others do change.

    Why it matters:
        They stay as they were drawn at random, and nobody asked for that.

    How it is judged:
        Kernels whose update was exactly 0 in each of the last `checks` readings, while at least
        one other kernel was updated in each.

    Example:
        >>> from sickbay.readings import Table, Vitals
        >>> rows = {"a.weight": {"update_ratio": 0.0}, "b.weight": {"update_ratio": 1e-3}}
        >>> history = History()
        >>> history.append(Vitals(step=0, tables=[Table.of("weight", 0, rows)]))
        >>> print(UnchangedWeights(checks=1).check(history))
        step 0  unchanged weights  a  1 of 2 kernels did not change in 1 readings

    Reference:
        Schoop et al. (2021), UMLAUT: debugging deep learning programs using program structure and
        model behavior, on parts of a model that do not learn.
    """

    advice = (
        "look for a zero gradient, a learning rate of 0 for that group, or a detach() behind it"
    )
    reads = ("weight",)
    explains = ("dying_relu", "vanishing_gradient", "layer_imbalance")

    checks: int = threshold(3, "Readings in a row without any change.", least=1)

    def check(self, history: History) -> Finding | None:
        tables = history.tables("weight", self.checks)
        if len(tables) < self.checks or len({table.names for table in tables}) > 1:
            return None
        rows = history.kernels(tables[-1])
        ratios = np.stack([table.column("update_ratio")[rows] for table in tables])
        still = (ratios == 0).all(0)
        if not still.any() or not (ratios > 0).any(1).all():
            return None
        where = tuple(tables[-1].layers[row] for row, idle in zip(rows, still, strict=True) if idle)
        message = f"{still.sum()} of {len(rows)} kernels did not change in {self.checks} readings"
        return self.found(history, message, step=tables[-1].step, layers=where)
