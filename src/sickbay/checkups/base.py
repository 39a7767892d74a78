"""What every test of a model is: a statement that should hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from inspect import getdoc
from typing import TYPE_CHECKING, ClassVar

from sickbay.checkups.report import Outcome, Result
from sickbay.findings import Severity
from sickbay.thresholds import Tunable

if TYPE_CHECKING:
    from sickbay.checkups.case import Case

WHY = "Why it matters:"


class Inapplicable(Exception):  # noqa: N818 - no error: the test says so and is not counted
    """Raised by a test, or by what it asks the case for, that makes no sense for this model."""


class Statement(Tunable, ABC):
    """Something that should hold for a model before it is trained, and how to tell.

    Subclasses are frozen dataclasses: their fields are the limits. The first line of the docstring
    is the statement, the section "Why it matters" the reason.
    """

    severity: ClassVar[Severity] = "critical"
    remedy: ClassVar[str] = ""
    optional: ClassVar[bool] = False  # run only if it is asked for

    @abstractmethod
    def examine(self, case: Case) -> Result:
        """Return whether it holds, or raise `Inapplicable`.

        What it does to a model it does to a `case.patient()`.
        """

    def holds(self, message: str, **evidence: float) -> Result:
        """Return that it does."""
        return self._result("passed", message, (), evidence)

    def fails(
        self, message: str, *, layers: Iterable[str] = (), remedy: str = "", **evidence: float
    ) -> Result:
        """Return that it does not."""
        return self._result("failed", message, tuple(layers), evidence, remedy)

    def skipped(self, message: str) -> Result:
        """Return that it makes no sense here."""
        return self._result("skipped", message, (), {})

    @classmethod
    def statement(cls) -> str:
        return (getdoc(cls) or "").partition("\n")[0]

    @classmethod
    def reason(cls) -> str:
        lines = (getdoc(cls) or "").partition(WHY)[2].strip().split("\n\n")[0]
        return " ".join(lines.split())

    def _result(
        self,
        outcome: Outcome,
        message: str,
        layers: tuple[str, ...],
        evidence: dict[str, float],
        remedy: str = "",
    ) -> Result:
        return Result(
            test=self.name(),
            outcome=outcome,
            message=message,
            severity=self.severity,
            statement=self.statement(),
            reason=self.reason(),
            remedy=(remedy or self.remedy) if outcome == "failed" else "",
            layers=layers,
            evidence=evidence,
        )
