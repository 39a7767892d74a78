import numpy as np

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.small_batches import SampledProblem
from sickbay.vitals import Kind

# By table: the column and its value if nothing changes.
IDLE: dict[Kind, tuple[str, float]] = {"weight": ("update_ratio", 0.0), "gradient": ("zeros", 1.0)}


@dataclass(frozen=True, kw_only=True)
class UnchangedWeights(SampledProblem):
    """Some layers do not change at all, although the optimizer holds them and other layers change.

    Why it matters:
        They keep their random initial weights, which nobody intended.

    How it is judged:
        The update, or the whole gradient, of a kernel was exactly 0 in each of the last `checks`
        readings, while that of at least one other kernel was not. The finding names the first of
        these steps. Weights without a gradient may still drift, by momentum and weight decay.

    Example:
        >>> rows = {"a.weight": {"update_ratio": 0.0}, "b.weight": {"update_ratio": 1e-3}}
        >>> history = History()
        >>> history.add_table("weight", rows)
        >>> print(UnchangedWeights(checks=1).check(history))
        step 0  unchanged weights  a  1 of 2 kernels did not change in 1 readings

    Reference:
        Schoop et al. (2021), UMLAUT: debugging deep learning programs using program structure and
        model behavior, on parts of a model that do not learn.
    """

    advice = "look for a zero gradient, a learning rate of 0 in that group, or a detach()"
    reads = ("weight", "gradient")
    explains = ("dying_relu", "layer_imbalance")

    checks: int = threshold(3, "Readings in a row without any change.", least=1)

    def check(self, history: History) -> Finding | None:
        for kind, (column, idle) in IDLE.items():
            newest = history.table(kind)
            if newest is None or not (newest.column(column) == idle).any():
                continue
            tables = self.readings(history, kind, self.checks)
            if not tables or any(each.names != newest.names for each in tables):
                continue
            layers, unused = newest.layers, history.setup.uncalled
            rows = [row for row in history.kernels(newest) if layers[row] not in unused]
            values = np.stack([table.column(column)[rows] for table in tables])
            still = (values == idle).all(0)
            if still.any() and (values != idle).any(1).all():
                where = tuple(layers[row] for row in np.array(rows)[still])
                what = "did not change" if kind == "weight" else "had a gradient of 0"
                message = f"{still.sum()} of {len(rows)} kernels {what} in {len(tables)} readings"
                return self.found(history, message, step=tables[0].step, layers=where)
        return None
