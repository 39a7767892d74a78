"""The base class of every test in a checkup: a statement that should hold for a model."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass as dataclass
from inspect import getdoc
from typing import Any, ClassVar

from sickbay.checkups.batch import Inapplicable as Inapplicable
from sickbay.checkups.model_setup import ModelSetup as ModelSetup
from sickbay.findings import Severity
from sickbay.reports.checkup_report import Outcome
from sickbay.reports.checkup_report import Result as Result
from sickbay.thresholds import Tunable
from sickbay.thresholds import choice as choice
from sickbay.thresholds import threshold as threshold

WHY = "Why it matters:"


class Statement(Tunable, ABC):
    """Something that should hold for a model before training, and how to check it.

    Subclasses are frozen dataclasses whose fields are the limits. The first line of the docstring
    is the statement; the section "Why it matters" gives the reason.

    Attributes:
        severity: How serious a failure is.
        remedy: What to do about a failure.
        optional: Whether the test runs only on request.
        order: When the test runs within its group. Tests of equal order run by name.
    """

    severity: ClassVar[Severity] = "critical"
    remedy: ClassVar[str] = ""
    optional: ClassVar[bool] = False
    order: ClassVar[int] = 100

    @abstractmethod
    def examine(self, setup: ModelSetup) -> Result:
        """Return whether the statement holds, or raise `Inapplicable`.

        Run and change only a `setup.model_copy()`, never `setup.model` itself.
        """

    def holds(self, message: str, **evidence: float) -> Result:
        """Return a result that passed."""
        return self._result("passed", message, evidence=evidence)

    def fails(
        self, message: str, *, layers: Iterable[str] = (), remedy: str = "", **evidence: float
    ) -> Result:
        """Return a result that failed."""
        remedy = remedy or self.remedy
        return self._result(
            "failed", message, layers=tuple(layers), evidence=evidence, remedy=remedy
        )

    def skipped(self, message: str) -> Result:
        """Return a result that says why the test does not apply."""
        return self._result("skipped", message)

    @classmethod
    def statement(cls) -> str:
        return (getdoc(cls) or "").partition("\n")[0]

    @classmethod
    def reason(cls) -> str:
        lines = (getdoc(cls) or "").partition(WHY)[2].strip().split("\n\n")[0]
        return " ".join(lines.split())

    def _result(self, outcome: Outcome, message: str, **more: Any) -> Result:
        return Result(
            test=self.name(),
            outcome=outcome,
            message=message,
            severity=self.severity,
            statement=self.statement(),
            reason=self.reason(),
            **more,
        )
