"""What a checkup has found; plain numbers and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from sickbay import __version__
from sickbay.findings import SEVERITIES, Severity
from sickbay.json_dataclasses import to_json
from sickbay.printable import one_line
from sickbay.reports.sarif import sarif

Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of one test.

    Attributes:
        test: Its name, in snake case.
        outcome: "passed", "failed", or "skipped" if it does not apply.
        message: What was seen, how much, against what limit; or why the test does not apply.
        severity: How bad it is if it fails.
        statement: What should hold.
        reason: Why that matters.
        remedy: What to do if it does not hold, "" if there is nothing.
        layers: The layers or parameters concerned, named as in the model.
        evidence: The numbers, by name.
        seconds: How long it took.
    """

    test: str
    outcome: Outcome
    message: str
    severity: Severity = "critical"
    statement: str = ""
    reason: str = ""
    remedy: str = ""
    layers: tuple[str, ...] = ()
    evidence: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def title(self) -> str:
        """The test's name as words."""
        return self.test.replace("_", " ")

    def __str__(self) -> str:
        return f"{self.outcome}  {self.title}: {one_line(self.message)}"


@dataclass(frozen=True)
class Report:
    """The results of a checkup, in the order of the tests.

    `untested` says what could not be examined for lack of something, as targets. `file` and `line`
    are where the model is written, "" and 1 if that is not known.

    >>> report = Report([Result(test="a_b", outcome="failed", message="no", severity="warning")])
    >>> report.ok, report.fails("critical"), report.failed[0].title
    (False, False, 'a b')
    """

    results: Sequence[Result]
    model: str = ""
    untested: tuple[str, ...] = ()
    file: str = ""
    line: int = 1

    @property
    def passed(self) -> list[Result]:
        return self._with("passed")

    @property
    def failed(self) -> list[Result]:
        return self._with("failed")

    @property
    def skipped(self) -> list[Result]:
        return self._with("skipped")

    @property
    def ok(self) -> bool:
        """Whether no test has failed."""
        return not self.failed

    def fails(self, least: Severity) -> bool:
        """Tell whether a test has failed that is at least so severe."""
        limit = SEVERITIES.index(least)
        return any(SEVERITIES.index(each.severity) >= limit for each in self.failed)

    def __getitem__(self, test: str) -> Result:
        found = [each for each in self.results if each.test == test]
        if not found:
            raise KeyError(test)
        return found[0]

    def as_json(self) -> dict[str, Any]:
        """Return all of it as what JSON can hold."""
        counts = {name: len(self._with(name)) for name in ("passed", "failed", "skipped")}
        results = [{**asdict(each), "evidence": to_json(each.evidence)} for each in self.results]
        where = {"model": self.model, "file": self.file, "line": self.line}
        return {**where, **counts, "untested": list(self.untested), "results": results}

    def as_sarif(self) -> dict[str, Any]:
        """Return the failures in SARIF 2.1.0, for code hosts and editors."""
        return sarif(self, __version__)

    def _with(self, outcome: str) -> list[Result]:
        return [each for each in self.results if each.outcome == outcome]

    def __str__(self) -> str:
        from sickbay.reports.checkup_text import text  # here: it loads rich

        return text(self)
