from math import isfinite

from sickbay.problems import exploding_gradient as ours
from sickbay.problems.published.autotrainer.low_accuracy_base import LowAccuracyProblem
from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.layer_gradients import first_and_last, nonfinite_gradients


@dataclass(frozen=True, kw_only=True)
class ExplodingGradient(LowAccuracyProblem, like=ours.ExplodingGradient):
    """The gradient grows on its way back to the first layer, or is not finite.

    How it is judged:
        The newest gradient norm of the first kernel over that of the last one is at least `ratio`,
        or any gradient contains a NaN or an Inf. This counts only while the accuracy is low.

    Example:
        >>> history = History(accuracy=[0.1])
        >>> history.add_table("gradient", {"a.weight": {"norm": 90.0}, "b.weight": {"norm": 0.1}})
        >>> print(ExplodingGradient().check(history).message)
        gradient norm 90, first/last 900 (limit 70)
    """

    ratio: float = threshold(
        70.0, "Limit for the ratio of the first to the last gradient norm.", above=1
    )

    def check(self, history: History) -> Finding | None:
        table = history.table("gradient")
        if table is None or not self.is_accuracy_low(history):
            return None
        if not table.is_finite:
            return nonfinite_gradients(self, history, table)
        first, last = first_and_last(history, table)
        if not (isfinite(first) and first >= self.ratio * last > 0):
            return None
        message = f"gradient norm {first:.3g}, first/last {first / last:.3g} (limit {self.ratio:g})"
        layers = (table.layers[history.kernels(table)[0]],)
        numbers = {"first": first, "last": last, "ratio": first / last}
        return self.found(history, message, step=table.step, layers=layers, **numbers)
