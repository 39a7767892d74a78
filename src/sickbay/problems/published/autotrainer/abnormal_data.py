import numpy as np

from sickbay.problems.published.autotrainer.repeated_checks_base import RepeatedProblem
from sickbay.problems.shared.base import Finding, History, choice, dataclass, threshold
from sickbay.vitals import Table

MEASURES = {"largest": "absmax", "mean": "mean_abs"}  # by the column that holds them


@dataclass(frozen=True, kw_only=True)
class AbnormalData(RepeatedProblem):
    """Layers output very large values: the data was probably not normalised.

    Why it matters:
        Large inputs saturate units and blow up gradients, so the model learns little from them.

    How it is judged:
        The largest absolute output of a layer is at least `limit`, or its output contains a NaN or
        an Inf. With `measure="mean"`, the mean absolute output is compared instead, as in the
        published code, and the last layer does not count. This must hold in `checks` readings in a
        row, while the accuracy is low.

    Example:
        >>> history = History(accuracy=[0.5])
        >>> history.add_table("activation", {"0": {"absmax": 52.0}, "1": {"absmax": 0.1}})
        >>> print(AbnormalData().check(history).message)
        largest |output| 52 (limit 10)

    Reference:
        Zhang et al. (2021), AutoTrainer, journal version; threshold as published there, rule as in
        the text (`largest`) or as in its code (`mean`).
    """

    advice = "normalise the inputs, remove outliers and values that are not finite"
    reads = ("activation",)

    limit: float = threshold(10.0, "Absolute output that is too large.", above=0)
    measure: str = choice(
        "largest", "The largest value of any layer, or the mean over a hidden layer.", MEASURES
    )

    def check(self, history: History) -> Finding | None:
        return self.newest(history, "activation")

    def shows(self, history: History, table: Table) -> bool:  # noqa: ARG002
        return bool(self._abnormal(table))

    def describe(self, history: History, table: Table) -> Finding:
        rows, column = self._abnormal(table), MEASURES[self.measure]
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
