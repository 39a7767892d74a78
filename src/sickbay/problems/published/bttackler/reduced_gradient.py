from itertools import pairwise
from math import inf, nan
from statistics import median

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.layer_gradients import by_kernel
from sickbay.problems.shared.planned_epochs import stage


@dataclass(frozen=True, kw_only=True)
class ReducedGradient(Problem):
    """In most layers, the gradient shrinks by a large factor on its way back, or it is tiny.

    Why it matters:
        The gradient shrinks exponentially with depth, so the first layers do not learn.

    How it is judged:
        Over the readings of an epoch, the mean absolute gradient is taken for each kernel. The
        median of these means is below `mean`, or the median of the ratios of each kernel to the
        next is below `ratio`, or one of the means is zero. Not judged if a gradient is not finite
        (`abnormal_gradient` reports that). Judged only in the first half of the planned epochs, and
        only if their number is known.

    Example:
        >>> from sickbay.vitals import Setup
        >>> rows = {"a.weight": {"mean_abs": 2e-5}, "b.weight": {"mean_abs": 0.4}}
        >>> history = History(Setup(epochs=20))
        >>> history.add_table("gradient", rows)
        >>> history.end_epoch(loss=2.3)
        >>> print(ReducedGradient().check(history).message)
        mean |gradient| median 0.2 (limit 1e-05), over that of the next layer 5e-05 (limit 0.0001)

    Reference:
        Pei et al. (2024), BTTackler; its rule ERG, as in the published code.
    """

    advice = "replace sigmoid or tanh with ReLU or SELU, or add batch or layer normalisation"
    reads = ("epoch",)
    yields_to_the_best = True
    protection_lasts = True

    ratio: float = threshold(1e-4, "Median ratio of adjacent layers that is too small.", above=0)
    mean: float = threshold(1e-5, "Median of the mean gradients that is too small.", above=0)

    def check(self, history: History) -> Finding | None:
        table = history.epoch_mean("gradient")
        if table is None or not table.is_finite or stage(history) != "early":
            return None
        means = by_kernel(history, table, "mean_abs")
        if not means:
            return None
        middle = median(means.values())
        ratios = {row: means[row] / (means[after] or nan) for row, after in pairwise(means)}
        ratio = median(ratios.values() or [inf])
        if 0 in means.values():
            ratio = 0.0  # as published: one layer without a gradient is enough
        if not (ratio < self.ratio or middle < self.mean):
            return None
        message = (
            f"mean |gradient| median {middle:.3g} (limit {self.mean:g}), "
            f"over that of the next layer {ratio:.3g} (limit {self.ratio:g})"
        )
        starved = [
            row for row in means if means[row] < self.mean or ratios.get(row, inf) < self.ratio
        ]
        layers = tuple(table.layers[row] for row in starved)
        numbers = {"median": middle, "ratio": ratio}
        return self.found(history, message, step=table.step, layers=layers, **numbers)
