"""The results of a checkup, as text, JSON, JUnit XML, and SARIF 2.1.0 for hosts and editors."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from typing import Any, Literal
from urllib.parse import quote

from sickbay.findings import SEVERITIES, Severity
from sickbay.json_dataclasses import to_json
from sickbay.printable import one_line
from sickbay.version import __version__

Outcome = Literal["passed", "failed", "skipped"]
SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
SARIF_LEVELS: dict[Severity, str] = {"info": "note", "warning": "warning", "critical": "error"}


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
        crashed: Whether the test was skipped because it raised an exception that it did not expect.
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
    crashed: bool = False
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
    def crashed(self) -> list[Result]:
        """The skipped tests that raised an exception, which says nothing about the model."""
        return [result for result in self.results if result.crashed]

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
        counts["crashed"] = len(self.crashed)
        results = [{**asdict(each), "evidence": to_json(each.evidence)} for each in self.results]
        for result in results:
            del result["curves"]
        where = {"model": self.model, "file": self.file, "line": self.line}
        return {**where, **counts, "untested": list(self.untested), "results": results}

    def as_sarif(self) -> dict[str, Any]:
        """Return the tests as rules and the failures as results, in SARIF 2.1.0.

        A result points to the definition of the model's class, if known, and names the layers.
        """
        rules = [_sarif_rule(result) for result in self.results]
        results = [
            _sarif_result(result, index, self)
            for index, result in enumerate(self.results)
            if result.outcome == "failed"
        ]
        driver = {"name": "sickbay", "version": __version__, "rules": rules}
        runs = [{"tool": {"driver": driver}, "results": results}]
        return {"$schema": SARIF, "version": "2.1.0", "runs": runs}

    def as_junit(self, fail_on: Severity | None = "critical") -> str:
        """Return the tests as JUnit XML; those less severe than `fail_on` do not fail."""
        from sickbay.reports.checkup_junit import junit  # here: it imports this module

        return junit(self, fail_on)

    def __str__(self) -> str:
        from sickbay.reports.checkup_text import text  # here: it loads rich

        return text(self)

    def _with(self, outcome: str) -> list[Result]:
        return [result for result in self.results if result.outcome == outcome]


def _sarif_rule(result: Result) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": result.test,
        "name": "".join(word.title() for word in result.test.split("_")),
        "shortDescription": {"text": result.statement or result.title},
        "defaultConfiguration": {"level": SARIF_LEVELS[result.severity]},
    }
    if result.reason:
        rule["fullDescription"] = {"text": result.reason}
    if result.remedy:
        rule["help"] = {"text": result.remedy}
    return rule


def _sarif_result(result: Result, index: int, report: Report) -> dict[str, Any]:
    advice = f" Try: {result.remedy}." if result.remedy else ""
    names = [f"{report.model}.{layer}" for layer in result.layers] or [report.model]
    logical = [{"fullyQualifiedName": name, "kind": "member"} for name in names]
    location: dict[str, Any] = {"logicalLocations": logical}
    if report.file:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": quote(report.file)},
            "region": {"startLine": report.line},
        }
    return {
        "ruleId": result.test,
        "ruleIndex": index,
        "level": SARIF_LEVELS[result.severity],
        "message": {"text": f"{result.title}: {result.message}.{advice}"},
        "locations": [location],
    }
