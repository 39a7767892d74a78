from statistics import median

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.layer_gradients import by_kernel, nonfinite_gradients


@dataclass(frozen=True, kw_only=True)
class AbnormalGradient(Problem):
    """Gradients are not finite, or far too large in most layers.

    Why it matters:
        The next update destroys the weights.

    How it is judged:
        Over the readings of an epoch, gradients hold a NaN or an Inf, or the mean absolute gradient
        of the median kernel is above `limit`.

    Example:
        >>> rows = {"a.weight": {"mean_abs": 3e4}, "b.weight": {"mean_abs": 2e4}}
        >>> history = History(loss=[2.3])
        >>> history.add_table("gradient", rows)
        >>> history.end_epoch()
        >>> print(AbnormalGradient().check(history).message)
        mean |gradient| 2.5e+04 in the median layer (limit 10000)

    Reference:
        Pei et al. (2024), BTTackler; its rule AGV, as in the published code.
    """

    severity = "critical"
    advice = "lower the learning rate, clip gradients, or add normalisation layers"
    reads = ("epoch",)

    limit: float = threshold(1e4, "Mean absolute gradient that is too large.", above=0)

    def check(self, history: History) -> Finding | None:
        table = history.epoch_mean("gradient")
        if table is None:
            return None
        if not table.is_finite:
            return nonfinite_gradients(self, history, table)
        means = by_kernel(history, table, "mean_abs")
        middle = median(means.values() or [0.0])
        if not middle > self.limit:
            return None
        layers = tuple(table.layers[row] for row, mean in means.items() if mean > self.limit)
        message = f"mean |gradient| {middle:.3g} in the median layer (limit {self.limit:g})"
        return self.found(history, message, step=table.step, layers=layers, median=middle)
