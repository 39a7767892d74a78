"""A checkup as SARIF 2.1.0, which code hosts and editors show next to the code."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from sickbay.findings import Severity
from sickbay.reports.checkup_report import Report, Result

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: dict[Severity, str] = {"info": "note", "warning": "warning", "critical": "error"}


def sarif(report: Report, version: str) -> dict[str, Any]:
    """Return the tests as rules and the failures as results.

    A result points to the definition of the model's class, if known, and names the layers.
    """
    rules = [_rule(result) for result in report.results]
    results = [
        _failure(result, index, report)
        for index, result in enumerate(report.results)
        if result.outcome == "failed"
    ]
    driver = {"name": "sickbay", "version": version, "rules": rules}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _rule(result: Result) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": result.test,
        "name": "".join(word.title() for word in result.test.split("_")),
        "shortDescription": {"text": result.statement or result.title},
        "defaultConfiguration": {"level": LEVELS[result.severity]},
    }
    if result.reason:
        rule["fullDescription"] = {"text": result.reason}
    if result.remedy:
        rule["help"] = {"text": result.remedy}
    return rule


def _failure(result: Result, index: int, report: Report) -> dict[str, Any]:
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
        "level": LEVELS[result.severity],
        "message": {"text": f"{result.title}: {result.message}.{advice}"},
        "locations": [location],
    }
