from collections.abc import Sequence
from math import nan

import numpy as np

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.learns_badly import LearningProblem
from sickbay.problems.shared.problem_groups import GRADIENTS, NO_PROGRESS, RATES
from sickbay.vitals import Numbers, Table

SILENCED = (  # activations that can be zero for every sample
    "ReLU", "ReLU6", "Threshold", "Hardswish", "Hardsigmoid", "GELU", "Softshrink", "Hardtanh",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class DeadUnits(LearningProblem):
    """Most units of a layer output zero for every sample, reading after reading.

    Why it matters:
        A unit that is always zero has no gradient, so it cannot recover, and a layer of such units
        passes nothing on.

    How it is judged:
        In one layer, at least `share` of the units were zero for the whole batch in each of the
        last three readings, while the model learns badly (see `accuracy` and `loss_drop`). A layer
        that outputs nothing but 0 always counts, and at once. If batches are small, more readings
        are needed: enough to hold twice `samples` samples, or `samples` for a layer that outputs
        nothing but 0.

    Example:
        >>> from sickbay.vitals import Setup
        >>> history = History(Setup(layers={"1": "ReLU", "2": "Linear"}), loss=[0.7])
        >>> history.add_table("activation", {"1": {"lasting_dead": 1.0}, "2": {}}, step=2)
        >>> print(DeadUnits().check(history).message)
        100 % of the units of 1 output nothing but 0 (limit 90 %)

    Reference:
        Lu et al. (2020), Dying ReLU and initialization: theory and numerical examples.
    """

    advice = "lower the learning rate, look at the biases, or replace ReLU with LeakyReLU or ELU"
    reads = ("activation",)
    explains = (
        "dying_relu", "unchanged_weights", "gradient_collapse", *GRADIENTS, *RATES, *NO_PROGRESS,
    )  # fmt: skip

    share: float = threshold(0.9, "Share of dead units in a layer that is too large.", above=0)

    def check(self, history: History) -> Finding | None:
        table = history.table("activation")
        if table is None or not np.fmax.reduce(silent([table])[:-1], initial=0) >= self.share:
            return None
        shares = self._shares(history, table)
        dead = {
            name: float(share)
            for name, share in zip(table.names[:-1], shares, strict=False)
            if share >= self.share and history.setup.layers.get(name) in SILENCED
        }
        worst = max(dead.values(), default=0.0)
        if not dead or (worst < 1 and not self.learns_badly(history)):
            return None
        first = next(iter(dead))
        message = f"{100 * dead[first]:.3g} % of the units of {first} output nothing but 0"
        message += f" (limit {100 * self.share:g} %)"
        return self.found(history, message, step=table.step, layers=tuple(dead), share=dead[first])

    def _shares(self, history: History, newest: Table) -> Numbers:
        """Return for each layer the share of units that were zero long enough."""
        some = self._readings(history, newest, 1)
        more = self._readings(history, newest, self.readings_of_units(history))
        whole = silent(some) == 1 if some else np.zeros(len(newest.names), bool)
        return np.where(whole, 1.0, silent(more) if more else nan)

    def _readings(self, history: History, newest: Table, least: int) -> list[Table]:
        tables = self.readings(history, "activation", least)
        return tables if all(each.names == newest.names for each in tables) else []


def silent(tables: Sequence[Table]) -> Numbers:
    """Return for each layer the share of units that were zero in all these readings."""
    whole = np.all([table.column("dead_units") == 1 for table in tables], 0)
    # A unit that lasted three readings was also zero in the first two.
    lasting = [table.column("lasting_dead") for table in tables[2:] or tables[-1:]]
    return np.where(whole, 1.0, np.min(lasting, 0))
