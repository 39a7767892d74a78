from sickbay.problems import vanishing_gradient as ours
from sickbay.problems.published.autotrainer.repeated_checks_base import RepeatedProblem
from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.layer_gradients import first_and_last
from sickbay.vitals import Table


@dataclass(frozen=True, kw_only=True)
class VanishingGradient(RepeatedProblem, like=ours.VanishingGradient):
    """Almost no gradient reaches the first layers.

    How it is judged:
        The gradient norm of the first kernel is tiny, both by itself and against that of the last
        kernel, in `checks` readings in a row. This counts only while the accuracy is low.

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
        return self.newest(history, "gradient")

    def shows(self, history: History, table: Table) -> bool:
        first, last = first_and_last(history, table)
        small = first <= self.norm and first <= self.ratio * last and last > 0
        return small and table.is_finite  # norms leave out what is not

    def describe(self, history: History, table: Table) -> Finding:
        return ours.starved(self, history, table, norm=self.norm, ratio=self.ratio)
