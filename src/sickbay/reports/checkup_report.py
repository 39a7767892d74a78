"""The results of a checkup: plain text and numbers, and ways to write them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from typing import Any, Literal

from sickbay.findings import SEVERITIES, Severity
from sickbay.json_dataclasses import to_json
from sickbay.printable import one_line

Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of one test.

    Attributes:
        test: The test's name, in snake case.
        outcome: "passed", "failed", or "skipped" if the test does not apply.
        message: What was measured, against which limit; or why the test does not apply.
        severity: How serious a failure is.
        statement: What should hold.
        reason: Why that matters.
        remedy: What to do about a failure, "" if there is nothing to suggest.
        layers: The layers or parameters concerned, named as in the model.
        evidence: The measured numbers, by name.
        curves: Measured series of equal length, by name, as of a learning rate range test.
        seconds: How long the test took.
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
    curves: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False)
    seconds: float = 0.0

    @property
    def title(self) -> str:
        """The test's name as words."""
        return self.test.replace("_", " ")

    def __str__(self) -> str:
        return f"{self.outcome}  {self.title}: {one_line(self.message)}"

    def plot(self, path: str | PathLike[str]) -> None:
        """Draw the curves of a learning rate range test; needs matplotlib."""
        from sickbay.reports.plots import plot_range

        plot_range(self, path)


@dataclass(frozen=True)
class Report:
    """The results of a checkup, in the order in which the tests ran.

    `untested` lists what could not be tested because something was not given, such as targets.
    `file` and `line` say where the model's class is defined, "" and 1 if that is not known.

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
        """Whether no test failed."""
        return not self.failed

    def fails(self, least: Severity) -> bool:
        """Return whether a test of at least this severity failed."""
        limit = SEVERITIES.index(least)
        return any(SEVERITIES.index(result.severity) >= limit for result in self.failed)

    def __getitem__(self, test: str) -> Result:
        for result in self.results:
            if result.test == test:
                return result
        raise KeyError(test)

    def as_json(self) -> dict[str, Any]:
        """Return the report as a dict that JSON can hold."""
        counts = {name: len(self._with(name)) for name in ("passed", "failed", "skipped")}
        results = [{**asdict(each), "evidence": to_json(each.evidence)} for each in self.results]
        for result in results:
            del result["curves"]
        where = {"model": self.model, "file": self.file, "line": self.line}
        return {**where, **counts, "untested": list(self.untested), "results": results}

    def as_sarif(self) -> dict[str, Any]:
        """Return the failures as SARIF 2.1.0, for code hosts and editors."""
        from sickbay import __version__
        from sickbay.reports.sarif import sarif

        return sarif(self, __version__)

    def __str__(self) -> str:
        from sickbay.reports.checkup_text import text  # here: it loads rich

        return text(self)

    def _with(self, outcome: str) -> list[Result]:
        return [result for result in self.results if result.outcome == outcome]
