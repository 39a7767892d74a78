from dataclasses import dataclass
from math import inf

import numpy as np

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.base import Problem
from sickbay.thresholds import threshold
from sickbay.vitals import Table


@dataclass(frozen=True, kw_only=True)
class AbnormalData(Problem):
    """Layers put out very large values: the data was probably not normalised.

    Why it matters:
        Large inputs saturate units and blow up gradients, so little can be learnt from them.

    How it is judged:
        What each hidden layer puts out (all but the last), by its mean absolute value, or with
        `by_mean` 0 what any layer puts out, by its largest; a NaN or an Inf there counts as well.
        In `checks` readings in a row, while the accuracy is low; silent without an accuracy.

    Example:
        >>> from sickbay.vitals import Vitals
        >>> rows = {"0": {"mean_abs": 52.0}, "1": {"mean_abs": 0.1}}
        >>> history = History(accuracy=[0.5])
        >>> history.append(Vitals(step=0, tables=[Table.of("activation", 0, rows)]))
        >>> print(AbnormalData().check(history).message)
        mean |output| 52 (limit 10)

    Reference:
        Zhang et al. (2021), AutoTrainer: an automatic DNN training problem detection and repair
        system, journal version; threshold as published there, rule as in its code (`by_mean` 1) or
        as in the text (`by_mean` 0).
    """

    advice = "normalise the inputs, remove outliers and values that are not finite"
    reads = ("activation",)

    limit: float = threshold(10.0, "Absolute output that is too large.", above=0)
    by_mean: int = threshold(
        1, "1: the mean over a hidden layer; 0: the largest of any layer.", least=0
    )
    checks: int = threshold(1, "Readings in a row that must show it.", least=1)
    accuracy: float = threshold(
        0.7, "A model that reached a higher accuracy is left alone.", least=0
    )

    def check(self, history: History) -> Finding | None:
        best = max(history.best("accuracy"), history.best("val_accuracy"))
        tables = history.tables("activation", self.checks)
        if not -inf < best <= self.accuracy or len(tables) < self.checks:
            return None
        if not all(self._abnormal(table) for table in tables):
            return None
        table, rows = tables[-1], self._abnormal(tables[-1])
        size, lost = (float(table.column(name)[rows[0]]) for name in (self._column, "nonfinite"))
        what = "mean" if self.by_mean else "largest"
        message = f"{what} |output| {size:.3g} (limit {self.limit:g})"
        if lost > 0:
            message = f"output has {lost:.0f} NaN or Inf"
        layers = tuple(table.layer(table.names[row]) for row in rows)
        return self.found(history, message, step=table.step, layers=layers, size=size)

    @property
    def _column(self) -> str:
        return "mean_abs" if self.by_mean else "absmax"

    def _abnormal(self, table: Table) -> list[int]:
        bad = (table.column(self._column) >= self.limit) | (table.column("nonfinite") > 0)
        return [int(row) for row in np.flatnonzero(bad[:-1] if self.by_mean else bad)]
