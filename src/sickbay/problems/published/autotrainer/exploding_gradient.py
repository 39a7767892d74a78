from math import isfinite

from sickbay.problems import exploding_gradient as ours
from sickbay.problems.published.autotrainer.repeated_checks_base import RepeatedProblem
from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.layer_gradients import first_and_last, nonfinite_gradients
from sickbay.vitals import Table


@dataclass(frozen=True, kw_only=True)
class ExplodingGradient(RepeatedProblem, like=ours.ExplodingGradient):
    """The gradient grows on its way back to the first layer, or is not finite.

    How it is judged:
        The gradient norm of the first kernel over that of the last one is at least `ratio`, or any
        gradient contains a NaN or an Inf, in `checks` readings in a row. This counts only while the
        accuracy is low.

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
        return self.newest(history, "gradient")

    def shows(self, history: History, table: Table) -> bool:
        first, last = first_and_last(history, table)
        return not table.is_finite or (isfinite(first) and first >= self.ratio * last > 0)

    def describe(self, history: History, table: Table) -> Finding:
        if not table.is_finite:
            return nonfinite_gradients(self, history, table)
        first, last = first_and_last(history, table)
        message = f"gradient norm {first:.3g}, first/last {first / last:.3g} (limit {self.ratio:g})"
        layers = (table.layers[history.kernels(table)[0]],)
        numbers = {"first": first, "last": last, "ratio": first / last}
        return self.found(history, message, step=table.step, layers=layers, **numbers)
