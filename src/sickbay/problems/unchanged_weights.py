import numpy as np

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.layer_gradients import fed_kernels
from sickbay.problems.shared.learns_badly import is_nearly_solved
from sickbay.problems.shared.small_batches import SampledProblem
from sickbay.vitals import Kind

# By table: the column and its value if nothing changes.
IDLE: dict[Kind, tuple[str, float]] = {"weight": ("update_ratio", 0.0), "gradient": ("zeros", 1.0)}
AT_REST = 1e-3  # share of the first gradient norm, or of the highest learning rate


@dataclass(frozen=True, kw_only=True)
class UnchangedWeights(SampledProblem):
    """Some layers do not change at all, although the optimizer holds them and other layers change.

    Why it matters:
        They keep their random initial weights, which nobody intended.

    How it is judged:
        The update, or the whole gradient, of a kernel was exactly 0 in each of the last `checks`
        readings, while that of at least one other kernel was not. The finding names the first of
        these steps. Weights without a gradient may still drift, by momentum and weight decay. It
        does not count at a minimum, where updates are too small to change a weight: the loss, the
        gradient or the learning rate is next to nothing compared with the start. Nor does the
        recurrent matrix of a layer count: it has no gradient in sequences of length one.

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
        if self._is_at_rest(history):
            return None
        for kind, (column, idle) in IDLE.items():
            newest = history.table(kind)
            if newest is None or not (newest.column(column) == idle).any():
                continue
            tables = self.readings(history, kind, self.checks)
            if not tables or any(each.names != newest.names for each in tables):
                continue
            layers, unused = newest.layers, history.setup.uncalled
            rows = [row for row in fed_kernels(history, newest) if layers[row] not in unused]
            values = np.stack([table.column(column)[rows] for table in tables])
            still = (values == idle).all(0)
            if still.any() and (values != idle).any(1).all():
                where = tuple(layers[row] for row in np.array(rows)[still])
                what = "did not change" if kind == "weight" else "had a gradient of 0"
                message = f"{still.sum()} of {len(rows)} kernels {what} in {len(tables)} readings"
                return self.found(history, message, step=tables[0].step, layers=where)
        return None

    def _is_at_rest(self, history: History) -> bool:
        small = [
            history.latest(name) < AT_REST * most
            for name, most in (
                ("grad_norm", history.first("grad_norm")),
                ("lr", history.best("lr")),
            )
        ]
        return any(small) or is_nearly_solved(history, self.steps(history))
