from sickbay.problems import vanishing_gradient as ours
from sickbay.problems.published.autotrainer.low_accuracy_base import LowAccuracyProblem
from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.layer_gradients import first_and_last


@dataclass(frozen=True, kw_only=True)
class VanishingGradient(LowAccuracyProblem, like=ours.VanishingGradient):
    """Almost no gradient reaches the first layers.

    How it is judged:
        The newest gradient norm of the first kernel is tiny, both by itself and against that of the
        last kernel. This counts only while the accuracy is low.

    Example:
        >>> history = History(accuracy=[0.1])
        >>> history.add_table("gradient", {"a.weight": {"norm": 2e-9}, "b.weight": {"norm": 0.4}})
        >>> print(VanishingGradient().check(history).message)
        gradient norm 2e-09 (limit 0.0001), first/last 5e-09 (limit 0.001)
    """

    ratio: float = threshold(
        1e-3, "Limit for the ratio of the first to the last gradient norm.", above=0
    )
    norm: float = threshold(1e-4, "Gradient norm of the first kernel that is too small.", above=0)

    def check(self, history: History) -> Finding | None:
        table = history.table("gradient")
        if table is None or not self.is_accuracy_low(history):
            return None
        first, last = first_and_last(history, table)
        if not (first <= self.norm and first <= self.ratio * last and last > 0):
            return None
        return ours.starved(self, history, table, norm=self.norm, ratio=self.ratio)
