"""A checkup as text: what failed with its evidence and remedy, and what was not tested."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from sickbay.console import Console, Text
from sickbay.printable import one_line
from sickbay.reports.terminal import SIGNS

if TYPE_CHECKING:
    from sickbay.checkups.report import Report, Result

PASSED = ("✓", "green")
NAMED = 6  # layers that are listed


def text(report: Report) -> str:
    """Return a report as plain text."""
    file = StringIO()
    show(report, Console(file=file, width=1000, color_system=None))
    return file.getvalue().rstrip()


def show(report: Report, console: Console) -> None:
    """Print a report: failures with what to do, what holds, and what does not apply."""
    for result in [*report.failed, *report.passed]:
        console.print(_line(result), soft_wrap=True)
        for more in _rest(result):
            console.print(Text(more, style="dim"), soft_wrap=True)
    for line in [*_inapplicable(report), *(f"· {one_line(each)}" for each in report.untested)]:
        console.print(Text(line, style="dim"), soft_wrap=True)
    console.print(_summary(report))


def _line(result: Result) -> Text:
    failed = result.outcome == "failed"
    sign, style = SIGNS[result.severity] if failed else PASSED
    line = Text(f"{sign} {result.title}: {one_line(result.message)}")
    line.stylize(style, 0, 1)
    if failed:
        line.stylize(style, 2, 2 + len(result.title))
    return line


def _inapplicable(report: Report) -> list[str]:
    """Return a line for each reason why tests do not apply."""
    by: dict[str, list[str]] = {}
    for result in report.skipped:
        by.setdefault(one_line(result.message), []).append(result.title)
    return [
        f"- {why}: no test of {', '.join(repr(each) for each in names)}"
        for why, names in by.items()
    ]


def _rest(result: Result) -> list[str]:
    if result.outcome != "failed":
        return []
    lines = [f"  why  {result.reason}"] if result.reason else []
    if len(result.layers) > 1:
        more = len(result.layers) - NAMED
        names = ", ".join(map(one_line, result.layers[:NAMED])) + (
            f" and {more} more" if more > 0 else ""
        )
        lines.append(f"  in   {names}")
    return [*lines, f"  try  {result.remedy}"] if result.remedy else lines


def _summary(report: Report) -> Text:
    seconds = sum(each.seconds for each in report.results)
    counts = f"{len(report.failed)} failed, {len(report.passed)} passed"
    skipped = f", {len(report.skipped)} do not apply" if report.skipped else ""
    line = Text(f"{one_line(report.model)}: {counts}{skipped} ({seconds:.1f} s)")
    line.stylize("bold red" if report.failed else "bold green")
    return line
