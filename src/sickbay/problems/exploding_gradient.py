from dataclasses import dataclass
from math import isfinite

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.gradient import GradientProblem, ends
from sickbay.readings import Table
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class ExplodingGradient(GradientProblem):
    """The gradient grows from layer to layer on its way back to the input.

    Why it matters:
        A step that fits the last layers throws the first ones far off, and the loss with them.

    How it is judged:
        The gradient norm of the first kernel over that of the last one, in `checks` readings in a
        row, while the model learns badly. NaN and Inf count too where `nonfinite` says so.

    Example:
        >>> from sickbay.readings import Vitals
        >>> history = History(loss=[2.3])
        >>> table = Table.of("gradient", 0, {"a.weight": {"norm": 900}, "b.weight": {"norm": 3}})
        >>> history.append(Vitals(step=0, tables=[table]))
        >>> print(ExplodingGradient(checks=1).check(history).message)
        gradient norm 900, first/last 300 (limit 70)

    Reference:
        Zhang et al. (2021), AutoTrainer: an automatic DNN training problem detection and repair
        system; thresholds as published there.
    """

    advice = "clip the gradient norm to 1, lower the learning rate, or add normalisation layers"

    ratio: float = threshold(70.0, "First over last gradient norm that is too large.", above=1)
    nonfinite: int = threshold(0, "1: a NaN or Inf in a gradient counts as well.", least=0)

    def shows(self, history: History, table: Table) -> bool:
        if self.nonfinite and not table.is_finite:
            return True
        first, last = ends(history, table)
        return isfinite(first) and first >= self.ratio * last > 0

    def describe(self, history: History, table: Table) -> Finding:
        spoilt = table.column("nonfinite") > 0
        if self.nonfinite and spoilt.any():
            where = tuple(layer for layer, bad in zip(table.layers, spoilt, strict=True) if bad)
            message = f"{spoilt.sum()} of {len(spoilt)} gradients hold NaN or Inf"
            return self.found(history, message, step=table.step, layers=where)
        first, last = ends(history, table)
        message = f"gradient norm {first:.3g}, first/last {first / last:.3g} (limit {self.ratio:g})"
        layers = (table.layers[history.kernels(table)[0]],)
        numbers = {"first": first, "last": last, "ratio": first / last}
        return self.found(history, message, step=table.step, layers=layers, **numbers)
