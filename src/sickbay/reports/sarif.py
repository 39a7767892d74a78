"""A checkup as SARIF 2.1.0, which code hosts and editors show beside the code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sickbay.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sickbay.checkups.report import Report, Result

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: dict[Severity, str] = {"info": "note", "warning": "warning", "critical": "error"}


def sarif(report: Report, version: str) -> dict[str, Any]:
    """Return the tests as rules and those that failed as results.

    Results are where the model's class is written, if that is known, and name the layers.
    """
    rules = [_rule(each) for each in report.results]
    results = [
        _result(each, place, report)
        for place, each in enumerate(report.results)
        if each.outcome == "failed"
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


def _result(result: Result, place: int, report: Report) -> dict[str, Any]:
    advice = f" Try: {result.remedy}." if result.remedy else ""
    location: dict[str, Any] = {"logicalLocations": _names(report.model, result.layers)}
    if report.file:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": quote(report.file)},
            "region": {"startLine": report.line},
        }
    return {
        "ruleId": result.test,
        "ruleIndex": place,
        "level": LEVELS[result.severity],
        "message": {"text": f"{result.title}: {result.message}.{advice}"},
        "locations": [location],
    }


def _names(model: str, layers: Sequence[str]) -> list[dict[str, str]]:
    names = [f"{model}.{layer}" for layer in layers] or [model]
    return [{"fullyQualifiedName": name, "kind": "member"} for name in names]
