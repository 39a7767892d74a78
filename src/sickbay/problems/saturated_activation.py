import numpy as np

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.learns_badly import LearningProblem
from sickbay.problems.shared.problem_groups import JUMPS, NO_PROGRESS, RATES
from sickbay.vitals import Numbers, Table

FROM_0_TO_1 = ("Sigmoid", "Hardsigmoid")
FROM_MINUS_1_TO_1 = ("Tanh", "Softsign", "RNN")  # an RNN outputs its tanh units


@dataclass(frozen=True, kw_only=True)
class SaturatedActivation(LearningProblem):
    """Hidden sigmoid or tanh units sit at the ends of their range.

    Why it matters:
        The slope there is almost 0, so almost no gradient gets through.

    How it is judged:
        For outputs p between 0 and 1, the mean of p(1 - p) is 0.25 in the middle of the range and 0
        at its ends. It is computed from the mean and the variance of the outputs. A layer is
        saturated if this value is below `slope`, in `checks` readings in a row, while the model
        learns badly (see `accuracy` and `loss_drop`). The last activation does not count.

    Example:
        >>> from sickbay.vitals import Setup
        >>> history = History(Setup(layers={"1": "Sigmoid", "2": "Linear"}), loss=[0.7])
        >>> rows = {"1": {"mean": 0.5, "variance": 0.248}, "2": {"mean": 0.0, "variance": 1.0}}
        >>> history.add_table("activation", rows)
        >>> print(SaturatedActivation(checks=1).check(history).message)
        1 of 1 sigmoid or tanh layers saturated, mean slope 0.002 (limit 0.02)

    Reference:
        Glorot and Bengio (2010), Understanding the difficulty of training deep feedforward neural
        networks.
    """

    advice = "start with smaller weights, normalise inputs or layers, or use ReLU or SELU"
    reads = ("activation",)
    explains = ("vanishing_gradient", "dying_relu", *JUMPS, *RATES, *NO_PROGRESS)

    slope: float = threshold(0.02, "Smallest mean of p(1 - p); it is 0.25 at most.", above=0)
    checks: int = threshold(3, "Readings in a row that must show it.", least=1)

    def check(self, history: History) -> Finding | None:
        newest = history.table("activation")
        if newest is None:
            return None
        slopes = self._slopes(history, newest)
        flat = slopes < self.slope
        if not flat.any() or not self.learns_badly(history):
            return None
        tables = self.readings(history, "activation", self.checks)
        if not tables:
            return None
        for table in tables[:-1]:
            if table.names != newest.names:
                return None
            flat &= self._slopes(history, table) < self.slope
        if not flat.any():
            return None
        least = float(slopes[flat].min())
        message = (
            f"{flat.sum()} of {np.isfinite(slopes).sum()} sigmoid or tanh layers saturated, "
            f"mean slope {least:.2g} (limit {self.slope:g})"
        )
        where = tuple(name for name, bad in zip(newest.names, flat, strict=True) if bad)
        return self.found(history, message, step=newest.step, layers=where, slope=least)

    def _slopes(self, history: History, table: Table) -> Numbers:
        """Return the mean slope of every hidden layer with such an activation, NaN for others."""
        mean, variance = table.column("mean"), table.column("variance")
        slopes: Numbers = np.full(len(mean), np.nan)
        rows = history.of_kinds(table, FROM_0_TO_1)
        slopes[rows] = mean[rows] * (1 - mean[rows]) - variance[rows]
        rows = history.of_kinds(table, FROM_MINUS_1_TO_1)
        slopes[rows] = (1 - mean[rows] ** 2 - variance[rows]) / 4
        slopes[-1:] = np.nan
        return slopes
