from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.base import GradientProblem, kernels
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class VanishingGradient(GradientProblem):
    """Almost no gradient reaches the first layers.

    Why it matters:
        The layers next to the input do not learn, so the layers behind them work on noise.

    How it is judged:
        The gradient norm of the first kernel over that of the last one, and the norm of the first
        itself: both must be tiny, in `checks` readings in a row, while the model learns badly.

    Example:
        >>> from sickbay.readings import Table, Vitals
        >>> history = History(loss=[0.69])
        >>> table = Table.of("gradient", 0, {"a.weight": {"norm": 2e-9}, "b.weight": {"norm": 0.4}})
        >>> history.append(Vitals(step=0, tables=[table]))
        >>> print(VanishingGradient(checks=1).check(history).message)
        gradient norm 2e-09 (limit 0.0001), first/last 5e-09 (limit 0.001)

    Reference:
        Zhang et al. (2021), AutoTrainer: an automatic DNN training problem detection and repair
        system; thresholds as published there.
    """

    advice = "replace sigmoid or tanh by ReLU or SELU, or add batch or layer normalisation"

    ratio: float = threshold(1e-3, "First over last gradient norm that is too small.", above=0)
    norm: float = threshold(1e-4, "Gradient norm of the first kernel that is too small.", above=0)

    def check(self, history: History) -> Finding | None:
        tables = self.suspects(history)
        for table in tables:
            _, norms = kernels(history, table)
            if len(norms) < 2 or not (
                norms[0] <= self.ratio * norms[-1] and norms[0] <= self.norm and norms[-1] > 0
            ):
                return None
        if not tables:
            return None
        layers, norms = kernels(history, tables[-1])
        first, last = float(norms[0]), float(norms[-1])
        message = (
            f"gradient norm {first:.2g} (limit {self.norm:g}), "
            f"first/last {first / last:.2g} (limit {self.ratio:g})"
        )
        starved = tuple(
            layer for layer, norm in zip(layers, norms, strict=True) if norm <= self.norm
        )
        return self.found(
            history, message, step=tables[-1].step, layers=starved,
            first=first, last=last, ratio=first / last,
        )  # fmt: skip
