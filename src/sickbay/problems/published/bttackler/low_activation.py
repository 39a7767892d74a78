from statistics import median

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.layer_gradients import by_kernel


@dataclass(frozen=True, kw_only=True)
class LowActivation(Problem):
    """In most layers a large part of the gradient is exactly zero: few units are active.

    Why it matters:
        Units that are off learn nothing, so the network uses only a fraction of its width.

    How it is judged:
        Over the readings of an epoch, the mean share of exact zeros in the gradient is taken for
        each kernel. The median of these shares is above `share`. Judged once `epochs` epochs are
        over, unless a gradient is not finite (`abnormal_gradient` reports that). Embeddings do not
        count.

    Example:
        >>> history = History()
        >>> history.add_table("gradient", {"a.weight": {"zeros": 0.8}, "b.weight": {"zeros": 0.6}})
        >>> for _ in range(5):
        ...     history.end_epoch(loss=2.3)
        >>> print(LowActivation().check(history).message)
        70 % of the gradient is exactly 0 in the median layer (limit 50 %)

    Reference:
        Pei et al. (2024), BTTackler; its rule LAR, as in the published code.
    """

    advice = "replace ReLU with LeakyReLU or ELU, lower the learning rate, or use less dropout"
    reads = ("epoch",)
    yields_to_the_best = True
    protection_lasts = True

    share: float = threshold(0.5, "Median share of exact zeros that is too much.", least=0)
    epochs: int = threshold(5, "Epochs that must be over.", least=0)

    def check(self, history: History) -> Finding | None:
        table = history.epoch_mean("gradient")
        if table is None or not table.is_finite or history.epoch < self.epochs:
            return None
        zeros = by_kernel(history, table, "zeros")
        middle = median(zeros.values() or [0.0])
        if not middle > self.share:
            return None
        message = (
            f"{100 * middle:.3g} % of the gradient is exactly 0 in the median layer "
            f"(limit {100 * self.share:g} %)"
        )
        layers = tuple(table.layers[row] for row, share in zeros.items() if share > self.share)
        return self.found(history, message, step=table.step, layers=layers, median=middle)
