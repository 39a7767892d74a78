"""A checkup as JUnit XML, which most CI servers show as tests."""

from xml.etree.ElementTree import Element, SubElement, tostring

from sickbay.findings import SEVERITIES, Severity
from sickbay.printable import one_line
from sickbay.reports.checkup_report import Report, Result


def junit(report: Report, fail_on: Severity | None = "critical") -> str:
    """Return a report as JUnit XML.

    A failed test that is less severe than `fail_on` passes, and its message is its output; with
    None, every test passes.

    >>> result = Result(test="modes_differ", outcome="failed", message="no", severity="warning")
    >>> "<failure" in junit(Report([result])), "<failure" in junit(Report([result]), "warning")
    (False, True)
    """
    least = len(SEVERITIES) if fail_on is None else SEVERITIES.index(fail_on)
    fails = [
        each.outcome == "failed" and SEVERITIES.index(each.severity) >= least
        for each in report.results
    ]
    counts = {"tests": len(fails), "failures": sum(fails), "errors": 0}
    counts["skipped"] = len(report.skipped)
    seconds = f"{sum(each.seconds for each in report.results):.3f}"
    totals = {**{name: str(count) for name, count in counts.items()}, "time": seconds}
    root = Element("testsuites", totals)
    suite = SubElement(root, "testsuite", {"name": f"sickbay checkup {report.model}", **totals})
    for result, failing in zip(report.results, fails, strict=True):
        suite.append(_case(result, failing, report))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, "unicode")


def _case(result: Result, failing: bool, report: Report) -> Element:
    case = Element("testcase", {"classname": f"checkup.{report.model}", "name": result.title})
    case.set("time", f"{result.seconds:.3f}")
    if report.file:
        case.set("file", report.file)
        case.set("line", str(report.line))
    message = one_line(result.message)
    if result.outcome == "skipped":
        SubElement(case, "skipped", {"message": message})
    elif failing:
        failure = SubElement(case, "failure", {"message": message, "type": result.severity})
        failure.text = _details(result)
    elif result.outcome == "failed":
        SubElement(case, "system-out").text = f"{result.severity}: {message}\n{_details(result)}"
    return case


def _details(result: Result) -> str:
    parts = {"why": result.reason, "in": ", ".join(result.layers), "try": result.remedy}
    return "\n".join(f"{name}  {one_line(text)}" for name, text in parts.items() if text)
