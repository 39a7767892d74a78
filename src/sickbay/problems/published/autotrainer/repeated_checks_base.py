"""Problems of AutoTrainer that several checks in a row must show."""

from abc import abstractmethod

from sickbay.problems.published.autotrainer.low_accuracy_base import LowAccuracyProblem
from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.vitals import Kind, Table


@dataclass(frozen=True, kw_only=True)
class RepeatedProblem(LowAccuracyProblem):
    """A problem that the newest readings of one table must all show."""

    checks: int = threshold(1, "Checks in a row that must show it: the paper's alpha + 1.", least=1)

    @abstractmethod
    def shows(self, history: History, table: Table) -> bool:
        """Return whether one table shows the problem."""

    @abstractmethod
    def describe(self, history: History, table: Table) -> Finding:
        """Return the finding for a table that shows the problem."""

    def newest(self, history: History, kind: Kind) -> Finding | None:
        """Return a finding if each of the newest tables of a kind shows the problem."""
        tables = history.tables(kind, self.checks)
        if len(tables) < self.checks or not self.is_accuracy_low(history):
            return None
        if not all(self.shows(history, table) for table in tables):
            return None
        return self.describe(history, tables[-1])
