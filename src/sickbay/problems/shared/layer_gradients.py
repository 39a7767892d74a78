"""Problems that show in the gradients of the layers."""

from abc import abstractmethod
from math import isnan, nan

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.learns_badly import LearningProblem
from sickbay.vitals import Table


@dataclass(frozen=True, kw_only=True)
class GradientProblem(LearningProblem):
    """A problem that shows in the gradients and only counts while the model learns badly."""

    reads = ("gradient",)

    checks: int = threshold(3, "Readings in a row that must show it.", least=1)

    @abstractmethod
    def shows(self, history: History, table: Table) -> bool:
        """Return whether one table shows the problem."""

    @abstractmethod
    def describe(self, history: History, table: Table) -> Finding:
        """Return the finding for a table that shows the problem."""

    def needed(self, _history: History) -> int:
        """Return how many readings in a row must show it."""
        return self.checks

    def check(self, history: History) -> Finding | None:
        newest = history.table("gradient")
        if newest is None or not self.shows(history, newest) or not self.learns_badly(history):
            return None
        tables = self.readings(history, "gradient", self.needed(history))
        if not tables or not all(self.shows(history, table) for table in tables):
            return None
        return self.describe(history, newest)


def first_and_last(history: History, table: Table) -> tuple[float, float]:
    """Return the gradient norms of the first and the last kernel, NaN if there is only one."""
    rows = history.kernels(table)
    if len(rows) < 2:
        return nan, nan
    norms = table.column("norm")
    return float(norms[rows[0]]), float(norms[rows[-1]])


def fed_kernels(history: History, table: Table) -> list[int]:
    """Return the rows of the kernels that every batch feeds.

    The recurrent matrices of an LSTM, GRU or RNN do not count: in sequences of length one they are
    multiplied by zeros, and so is that of a direction of which only the first state is used.
    """
    return [row for row in history.kernels(table) if "weight_hh" not in table.names[row]]


def by_kernel(history: History, table: Table, statistic: str) -> dict[int, float]:
    """Return a statistic of every kernel by its row, without those that are NaN."""
    values = table.column(statistic).tolist()
    return {row: values[row] for row in history.kernels(table) if not isnan(values[row])}


def nonfinite_gradients(problem: Problem, history: History, table: Table) -> Finding:
    """Return the finding for gradients that hold NaN or Inf."""
    bad = table.column("nonfinite") > 0
    layers = tuple(layer for layer, lost in zip(table.layers, bad, strict=True) if lost)
    message = f"{bad.sum()} of {len(bad)} gradients hold NaN or Inf"
    return problem.found(history, message, step=table.step, layers=layers)
