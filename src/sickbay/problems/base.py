"""What every problem is."""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, TypeAlias

from sickbay.findings import Finding, Severity
from sickbay.history import History
from sickbay.thresholds import Tunable
from sickbay.vitals import KINDS, Kind

Source: TypeAlias = Kind | Literal["step", "epoch"]  # a table, the scalars of a step, of an epoch


class Problem(Tunable, ABC):
    """Something that can go wrong in training, and how to tell from the history."""

    severity: ClassVar[Severity] = "warning"
    advice: ClassVar[str]
    reads: ClassVar[tuple[Source, ...]] = ("step", "epoch", *KINDS)  # asked when one is new
    explains: ClassVar[tuple[str, ...]] = ()  # problems that are a consequence of this one
    yields_to_the_best: ClassVar[bool] = False  # a trial among the best is protected from it
    benign: ClassVar[bool] = False  # a trial that ends by it stays a candidate

    @abstractmethod
    def check(self, history: History) -> Finding | None:
        """Return a finding if the problem is present now.

        Pure: it only reads `history`, so any recorded run can be replayed through it.
        """

    def lasts(self, _finding: Finding) -> bool:
        """Tell whether the damage may outlast the problem, which then explains what comes later."""
        return True

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
