from dataclasses import replace

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.layer_gradients import GradientProblem, first_and_last
from sickbay.problems.shared.problem_groups import NO_PROGRESS, RATES, UNITS
from sickbay.vitals import Table

START = 10  # steps in which nothing else can have starved the first layers yet
SQUASHING = ("Sigmoid", "Tanh", "Hardsigmoid", "Softsign")
CERTAIN = 0.1  # of the limit for the spread: small initial weights alone do not cause that


@dataclass(frozen=True, kw_only=True)
class VanishingGradient(GradientProblem):
    """Almost no gradient reaches the first layers.

    Why it matters:
        The layers near the input do not learn, so the layers after them work on noise.

    How it is judged:
        The gradient norm of the first kernel is tiny both by itself and compared with that of the
        last kernel, or it is below `floor` whatever the last one is. This must hold in `checks`
        readings in a row, and it counts only while the outputs hardly depend on the inputs
        (`spread`; a tenth of it before step `after`, because small initial weights in the last
        layer have the same effect, and go away). If the outputs are not known, it counts only below
        `floor`, while the model learns badly (see `accuracy` and `loss_drop`). In the first steps
        of a model with `deep` or more sigmoids and tanhs, it is a cause of its own whatever else is
        found.

    Example:
        >>> history = History(loss=[0.69])
        >>> history.add_table("gradient", {"a.weight": {"norm": 2e-9}, "b.weight": {"norm": 0.4}})
        >>> print(VanishingGradient(checks=1).check(history).message)
        gradient norm 2e-09 (limit 0.001), first/last 5e-09 (limit 0.02)

    Reference:
        Zhang et al. (2021), AutoTrainer; its own rule is `published.autotrainer.VanishingGradient`.
    """

    advice = "replace sigmoid or tanh with ReLU or SELU, or add batch or layer normalisation"
    explains = ("unchanged_weights", "gradient_spike", *RATES, *UNITS, *NO_PROGRESS)

    ratio: float = threshold(
        2e-2, "Limit for the ratio of the first to the last gradient norm.", above=0
    )
    norm: float = threshold(1e-3, "Gradient norm of the first kernel that is too small.", above=0)
    floor: float = threshold(
        1e-6, "First gradient norm that is too small whatever the last one is.", least=0
    )
    spread: float = threshold(
        4e-3, "Limit for the spread of the outputs, relative to their size.", above=0
    )

    after: int = threshold(100, "Steps to wait for the first layers to learn.", least=0)
    deep: int = threshold(4, "Squashing layers that starve the first ones by themselves.", least=1)

    def stands_alone(self, finding: Finding) -> bool:
        return finding.step <= START and finding.evidence.get("squashing", 0.0) >= self.deep

    def shows(self, history: History, table: Table) -> bool:
        first, last = first_and_last(history, table)
        if not (first <= self.norm and last > 0):
            return False
        return first <= self.ratio * last or 0 < first <= self.floor

    def learns_badly(self, history: History) -> bool:
        count = max(self.checks, self.steps(history))
        spreads, early = history.recent("output_spread", count), history.step < self.after
        if spreads:
            return max(spreads) <= self.spread * (CERTAIN if early else 1)
        return self._is_certain(history) and super().learns_badly(history)

    def _is_certain(self, history: History) -> bool:
        table = history.table("gradient")
        return table is not None and first_and_last(history, table)[0] <= self.floor

    def describe(self, history: History, table: Table) -> Finding:
        finding = starved(self, history, table, norm=self.norm, ratio=self.ratio)
        squashing = sum(kind in SQUASHING for kind in history.setup.layers.values())
        return replace(finding, evidence={**finding.evidence, "squashing": squashing})


def starved(
    problem: Problem, history: History, table: Table, *, norm: float, ratio: float
) -> Finding:
    """Return the finding for first kernels with too small a gradient."""
    first, last = first_and_last(history, table)
    message = (
        f"gradient norm {first:.2g} (limit {norm:g}), "
        f"first/last {first / last:.2g} (limit {ratio:g})"
    )
    norms = table.column("norm")
    layers = tuple(table.layers[row] for row in history.kernels(table) if norms[row] <= norm)
    numbers = {"first": first, "last": last, "ratio": first / last}
    return problem.found(history, message, step=table.step, layers=layers, **numbers)
