"""A checkup as text: failures with evidence and advice, then what passed or was not tested."""

from collections.abc import Iterable
from io import StringIO

from sickbay.console import Console, Text
from sickbay.printable import one_line
from sickbay.reports.checkup_report import Report, Result
from sickbay.reports.terminal import SIGNS

PASSED, CRASHED = ("✓", "green"), ("?", "yellow")
NAMED_LAYERS = 6


def text(report: Report) -> str:
    """Return a report as plain text."""
    file = StringIO()
    show(report, Console(file=file, width=1000, color_system=None))
    return file.getvalue().rstrip()


def show(report: Report, console: Console) -> None:
    """Print failures with advice, what passed, what crashed, and then what does not apply."""
    for result in [*report.failed, *report.passed]:
        console.print(_headline(result), soft_wrap=True)
        for line in _details(result):
            console.print(Text(line, style="dim"), soft_wrap=True)
    for line in _by_reason(report.crashed):
        console.print(Text(f"{CRASHED[0]} crashed {line}", style=CRASHED[1]), soft_wrap=True)
    skipped = _by_reason([each for each in report.skipped if not each.crashed])
    lines = [f"- skipped {line}" for line in skipped]
    for line in [*lines, *(f"· {one_line(note)}" for note in report.untested)]:
        console.print(Text(line, style="dim"), soft_wrap=True)
    seconds = sum(result.seconds for result in report.results)
    counts = f"{len(report.failed)} failed, {len(report.passed)} passed"
    counts += f", {len(report.skipped)} skipped" if report.skipped else ""
    counts += f" ({len(report.crashed)} crashed)" if report.crashed else ""
    style = "bold red" if report.failed else "bold green"
    console.print(Text(f"{one_line(report.model)}: {counts} ({seconds:.1f} s)", style))


def _by_reason(results: Iterable[Result]) -> list[str]:
    """Return lines that name the tests with the same message."""
    titles: dict[str, list[str]] = {}
    for each in results:
        titles.setdefault(one_line(each.message), []).append(repr(each.title))
    return [f"{', '.join(names)}: {reason}" for reason, names in titles.items()]


def _headline(result: Result) -> Text:
    failed = result.outcome == "failed"
    sign, style = SIGNS[result.severity] if failed else PASSED
    line = Text(f"{sign} {result.title}: {one_line(result.message)}")
    line.stylize(style, 0, 1)
    if failed:
        line.stylize(style, 2, 2 + len(result.title))
    return line


def _details(result: Result) -> list[str]:
    if result.outcome != "failed":
        return []
    lines = [f"  why  {result.reason}"] if result.reason else []
    if len(result.layers) > 1:
        names = ", ".join(map(one_line, result.layers[:NAMED_LAYERS]))
        more = len(result.layers) - NAMED_LAYERS
        lines.append(f"  in   {names}" + (f" and {more} more" if more > 0 else ""))
    return [*lines, f"  try  {result.remedy}"] if result.remedy else lines
