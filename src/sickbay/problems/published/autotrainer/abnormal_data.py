import numpy as np

from sickbay.problems.published.autotrainer.low_accuracy_base import LowAccuracyProblem
from sickbay.problems.shared.base import Finding, History, choice, dataclass, threshold
from sickbay.vitals import Table

MEASURES = {"mean": "mean_abs", "largest": "absmax"}  # by the column that holds them


@dataclass(frozen=True, kw_only=True)
class AbnormalData(LowAccuracyProblem):
    """Layers output very large values: the data was probably not normalised.

    Why it matters:
        Large inputs saturate units and blow up gradients, so the model learns little from them.

    How it is judged:
        The mean absolute output of a layer is at least `limit`, or its output contains a NaN or an
        Inf. The last layer does not count. With `measure="largest"`, the largest absolute output is
        compared instead, in every layer. This must hold in `checks` readings in a row, while the
        accuracy is low.

    Example:
        >>> history = History(accuracy=[0.5])
        >>> history.add_table("activation", {"0": {"mean_abs": 52.0}, "1": {"mean_abs": 0.1}})
        >>> print(AbnormalData().check(history).message)
        mean |output| 52 (limit 10)

    Reference:
        Zhang et al. (2021), AutoTrainer, journal version; threshold as published there, rule as in
        its code (`mean`) or as in the text (`largest`).
    """

    advice = "normalise the inputs, remove outliers and values that are not finite"
    reads = ("activation",)

    limit: float = threshold(10.0, "Absolute output that is too large.", above=0)
    measure: str = choice(
        "mean", "The mean over a hidden layer, or the largest value of any layer.", MEASURES
    )
    checks: int = threshold(1, "Readings in a row that must show it.", least=1)

    def check(self, history: History) -> Finding | None:
        tables = history.tables("activation", self.checks)
        if len(tables) < self.checks or not self.is_accuracy_low(history):
            return None
        if not all(self._abnormal(table) for table in tables):
            return None
        table, rows = tables[-1], self._abnormal(tables[-1])
        column = MEASURES[self.measure]
        size, lost = (float(table.column(name)[rows[0]]) for name in (column, "nonfinite"))
        message = f"{self.measure} |output| {size:.3g} (limit {self.limit:g})"
        if lost > 0:
            message = f"output has {lost:.0f} NaN or Inf"
        layers = tuple(table.layers[row] for row in rows)
        return self.found(history, message, step=table.step, layers=layers, size=size)

    def _abnormal(self, table: Table) -> list[int]:
        large = table.column(MEASURES[self.measure]) >= self.limit
        bad = large | (table.column("nonfinite") > 0)
        return [int(row) for row in np.flatnonzero(bad[:-1] if self.measure == "mean" else bad)]
