from statistics import median

from sickbay.problems.published.bttackler import amplified_gradient as code
from sickbay.problems.published.bttackler_paper.layer_ratios import layer_ratios
from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.planned_epochs import stage


@dataclass(frozen=True, kw_only=True)
class AmplifiedGradient(Problem, like=code.AmplifiedGradient):
    """In most layers, the gradient grows by a large factor on its way back to the input.

    How it is judged:
        Over the readings of an epoch, the mean absolute gradient of each kernel is divided by that
        of the next kernel. The median of these ratios reaches `ratio`. The ratio of a kernel
        without any gradient is 0. Not judged if a gradient is not finite (`abnormal_gradient`
        reports that). Judged only in the first half of the planned epochs, and only if their number
        is known. The paper gives no limit; this is that of the published code, which is not met by
        a median of just that size.

    Example:
        >>> from sickbay.vitals import Setup
        >>> rows = {"a.weight": {"mean_abs": 10.0}, "b.weight": {"mean_abs": 0.01}}
        >>> history = History(Setup(epochs=20))
        >>> history.add_table("gradient", rows)
        >>> history.end_epoch(loss=2.3)
        >>> print(AmplifiedGradient().check(history).message)
        mean |gradient| over that of the next layer: median 1e+03 (limit 1000)

    Reference:
        Pei et al. (2024), BTTackler; its rule EAG, as in the paper.
    """

    ratio: float = threshold(1e3, "Median ratio of adjacent layers that is too large.", above=1)

    def check(self, history: History) -> Finding | None:
        table = history.epoch_mean("gradient")
        if table is None or not table.is_finite or stage(history) != "early":
            return None
        ratios = layer_ratios(history, table)
        middle = median(ratios.values() or [0.0])
        if not middle >= self.ratio:
            return None
        message = (
            f"mean |gradient| over that of the next layer: median {middle:.3g} "
            f"(limit {self.ratio:g})"
        )
        layers = tuple(table.layers[row] for row, ratio in ratios.items() if ratio >= self.ratio)
        return self.found(history, message, step=table.step, layers=layers, median=middle)
