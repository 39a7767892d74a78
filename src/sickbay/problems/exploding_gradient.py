from dataclasses import dataclass
from math import isfinite

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.base import GradientProblem, kernels
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

    def check(self, history: History) -> Finding | None:
        tables = self.suspects(history)
        if not tables or not all(self._shows(history, table) for table in tables):
            return None
        layers, norms = kernels(history, tables[-1])
        spoilt = tables[-1].column("nonfinite") > 0
        if self.nonfinite and spoilt.any():
            where = tuple(
                layer for layer, bad in zip(tables[-1].layers, spoilt, strict=True) if bad
            )
            message = f"{int(spoilt.sum())} of {len(spoilt)} gradients hold NaN or Inf"
            return self.found(history, message, step=tables[-1].step, layers=where)
        first, last = float(norms[0]), float(norms[-1])
        message = f"gradient norm {first:.3g}, first/last {first / last:.3g} (limit {self.ratio:g})"
        return self.found(
            history, message, step=tables[-1].step, layers=layers[:1],
            first=first, last=last, ratio=first / last,
        )  # fmt: skip

    def _shows(self, history: History, table: Table) -> bool:
        if self.nonfinite and (table.column("nonfinite") > 0).any():
            return True
        _, norms = kernels(history, table)
        return bool(
            len(norms) > 1 and isfinite(norms[0]) and norms[0] >= self.ratio * norms[-1] > 0
        )
