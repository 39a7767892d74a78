from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.groups import JUMPS, RATES, STANDSTILL
from sickbay.problems.learning import LearningProblem
from sickbay.readings import COLUMN, Table
from sickbay.thresholds import threshold

LIMITS = {
    "RNN": (-1, 1),  # what it puts out are its tanh units
    "Sigmoid": (0.0, 1.0),
    "Tanh": (-1.0, 1.0),
    "Hardsigmoid": (0.0, 1.0),
    "Softsign": (-1.0, 1.0),
}


@dataclass(frozen=True, kw_only=True)
class SaturatedActivation(LearningProblem):
    """Hidden sigmoid or tanh units sit at the ends of their range.

    Why it matters:
        There the slope is almost 0, so almost no gradient passes.

    How it is judged:
        For outputs p between 0 and 1, the mean of p(1 - p), which is 0.25 in the middle of the
        range and 0 at its ends; it follows from their mean and variance. A layer is saturated where
        that is below `slope`, in `checks` readings in a row, while the model learns badly. The last
        activation does not count.

    Example:
        >>> from sickbay.readings import Setup, Table, Vitals
        >>> history = History(Setup(layers={"1": "Sigmoid", "2": "Linear"}), loss=[0.7])
        >>> rows = {"1": {"mean": 0.5, "variance": 0.248}, "2": {"mean": 0.0, "variance": 1.0}}
        >>> history.append(Vitals(step=0, tables=[Table.of("activation", 0, rows)]))
        >>> print(SaturatedActivation(checks=1).check(history).message)
        1 of 1 sigmoid or tanh layers saturated, mean slope 0.002 (limit 0.02)

    Reference:
        Glorot and Bengio (2010), Understanding the difficulty of training deep feedforward neural
        networks.
    """

    advice = "start with smaller weights, normalise inputs or layers, or use ReLU or SELU"
    reads = ("activation",)
    explains = ("vanishing_gradient", "dying_relu", *JUMPS, *RATES, *STANDSTILL)

    slope: float = threshold(0.02, "Mean of p(1 - p) that is too small; 0.25 is the most.", above=0)
    checks: int = threshold(3, "Readings in a row that must show it.", least=1)

    def check(self, history: History) -> Finding | None:
        tables = history.tables("activation", self.checks)
        if len(tables) < self.checks:
            return None
        slopes = [self._slopes(history, table) for table in tables]
        flat = [
            name for name in slopes[-1] if all(each.get(name, 1.0) < self.slope for each in slopes)
        ]
        if not flat or not self.learns_badly(history):
            return None
        least = min(slopes[-1][name] for name in flat)
        message = (
            f"{len(flat)} of {len(slopes[-1])} sigmoid or tanh layers saturated, "
            f"mean slope {least:.2g} (limit {self.slope:g})"
        )
        return self.found(history, message, step=tables[-1].step, layers=tuple(flat), slope=least)

    def _slopes(self, history: History, table: Table) -> dict[str, float]:
        """Return the mean slope of every hidden layer with such an activation."""
        slopes = {}
        kinds = [history.setup.layers.get(name, "") for name in table.names]
        for name, kind, row in zip(table.names[:-1], kinds, table.values, strict=False):
            if kind in LIMITS:
                low, high = LIMITS[kind]
                mean = (float(row[COLUMN["mean"]]) - low) / (high - low)
                slopes[name] = (
                    mean * (1 - mean) - float(row[COLUMN["variance"]]) / (high - low) ** 2
                )
        return slopes
