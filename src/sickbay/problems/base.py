"""What every problem is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf, isnan, nan
from typing import ClassVar, Literal, TypeAlias

from sickbay.findings import Finding, Severity
from sickbay.history import History
from sickbay.readings import KINDS, Kind, Table
from sickbay.thresholds import Tunable, threshold

Source: TypeAlias = Kind | Literal["step", "epoch"]  # a table, the scalars of a step, of an epoch


class Problem(Tunable, ABC):
    """Something that can go wrong in training, and how to tell from the history."""

    severity: ClassVar[Severity] = "warning"
    advice: ClassVar[str]
    reads: ClassVar[tuple[Source, ...]] = ("step", "epoch", *KINDS)  # asked when one is new
    explains: ClassVar[tuple[str, ...]] = ()  # problems that are a consequence of this one
    yields_to_the_best: ClassVar[bool] = False  # a trial among the best is protected from it

    @abstractmethod
    def check(self, history: History) -> Finding | None:
        """Return a finding if the problem is present now.

        Pure: it only reads `history`, so any recorded run can be replayed through it.
        """

    def found(
        self,
        history: History,
        message: str,
        *,
        step: int | None = None,
        layers: tuple[str, ...] = (),
        **evidence: float,
    ) -> Finding:
        """Return a finding of this problem, at the newest step unless another is given."""
        return Finding(
            problem=self.name(),
            severity=self.severity,
            step=history.step if step is None else step,
            epoch=history.epoch,
            layers=tuple(dict.fromkeys(layers)),
            message=message,
            evidence=evidence,
        )


@dataclass(frozen=True, kw_only=True)
class GradientProblem(Problem):
    """A problem that shows in the gradients, and only counts while the model learns badly.

    Badly means an accuracy that never rose above `accuracy`, or, where no accuracy is given, a loss
    that has not fallen by `loss_drop` of its first value.
    """

    reads = ("gradient",)

    checks: int = threshold(3, "Readings in a row that must show it.", least=1)
    accuracy: float = threshold(
        0.7, "A model that reached a higher accuracy is left alone.", least=0
    )
    loss_drop: float = threshold(
        0.1,
        "Without an accuracy: fall of the loss, as a fraction of the first, at which the model is "
        "left alone. 0: say nothing without an accuracy.",
        least=0,
    )

    def learns_badly(self, history: History) -> bool:
        accuracy = max(history.best("accuracy"), history.best("val_accuracy"))
        if accuracy > -inf:
            return accuracy <= self.accuracy
        first, losses = (
            history.first("loss"),
            history.recent("loss", 10) or history.epochs("loss")[-1:],
        )
        if not self.loss_drop:
            return False
        if isnan(first):
            return True
        return not first - sum(losses) / len(losses) > self.loss_drop * abs(first)

    @abstractmethod
    def shows(self, history: History, table: Table) -> bool:
        """Tell whether one table shows the problem."""

    @abstractmethod
    def describe(self, history: History, table: Table) -> Finding:
        """Return the finding for a table that shows the problem."""

    def check(self, history: History) -> Finding | None:
        newest = history.table("gradient")
        if newest is None or not self.shows(history, newest) or not self.learns_badly(history):
            return None
        tables = history.tables("gradient", self.checks)
        if len(tables) < self.checks or not all(self.shows(history, table) for table in tables):
            return None
        return self.describe(history, newest)


def ends(history: History, table: Table) -> tuple[float, float]:
    """Return the gradient norms of the first and the last kernel, NaN if there are not two."""
    rows = history.kernels(table)
    if len(rows) < 2:
        return nan, nan
    norms = table.column("norm")
    return float(norms[rows[0]]), float(norms[rows[-1]])
