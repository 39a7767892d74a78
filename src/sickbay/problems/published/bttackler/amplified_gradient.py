from itertools import pairwise
from statistics import median

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.layer_gradients import by_kernel
from sickbay.problems.shared.planned_epochs import stage


@dataclass(frozen=True, kw_only=True)
class AmplifiedGradient(Problem):
    """In most layers, the gradient grows by a large factor on its way back to the input.

    Why it matters:
        The gradient grows exponentially with depth, so the updates of the first layers are erratic.

    How it is judged:
        Over the readings of an epoch, the mean absolute gradient of each kernel is divided by that
        of the next kernel. The median of these ratios is above `ratio`. Not judged if the gradient
        of a kernel is all zero, or if any gradient is not finite (`abnormal_gradient` reports
        that). Judged only in the first half of the planned epochs, and only if their number is
        known.

    Example:
        >>> from sickbay.vitals import Setup
        >>> rows = {"a.weight": {"mean_abs": 40.0}, "b.weight": {"mean_abs": 0.01}}
        >>> history = History(Setup(epochs=20))
        >>> history.add_table("gradient", rows)
        >>> history.end_epoch(loss=2.3)
        >>> print(AmplifiedGradient().check(history).message)
        mean |gradient| over that of the next layer: median 4e+03 (limit 1000)

    Reference:
        Pei et al. (2024), BTTackler; its rule EAG, as in the published code.
    """

    advice = "clip the gradient norm to 1, lower the learning rate, or add normalisation layers"
    reads = ("epoch",)

    ratio: float = threshold(1e3, "Median ratio of adjacent layers that is too large.", above=1)

    def check(self, history: History) -> Finding | None:
        table = history.epoch_mean("gradient")
        if table is None or not table.is_finite or stage(history) != "early":
            return None
        means = by_kernel(history, table, "mean_abs")
        if len(means) < 2 or 0 in means.values():
            return None
        ratios = {row: means[row] / means[after] for row, after in pairwise(means)}
        middle = median(ratios.values())
        if not middle > self.ratio:
            return None
        message = (
            f"mean |gradient| over that of the next layer: median {middle:.3g} "
            f"(limit {self.ratio:g})"
        )
        layers = tuple(table.layers[row] for row, ratio in ratios.items() if ratio > self.ratio)
        return self.found(history, message, step=table.step, layers=layers, median=middle)
