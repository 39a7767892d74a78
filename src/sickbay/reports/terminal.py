"""Findings and notices on the terminal, a line each, with advice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sickbay.findings import Finding, Severity
from sickbay.printable import one_line, printable

if TYPE_CHECKING:
    from sickbay.console import Console

SIGNS: Mapping[Severity, tuple[str, str]] = {
    "info": ("·", "cyan"),
    "warning": ("⚠", "yellow"),
    "critical": ("✖", "bold red"),
}


def finding_lines(finding: Finding, advice: str = "") -> list[str]:
    r"""Return a finding as plain text.

    >>> finding = Finding(problem="non_finite", severity="critical", step=7, message="loss is nan")
    >>> print(*finding_lines(finding, "lower the learning rate"), sep="\n")
    ✖ step 7  non finite  loss is nan
      try  lower the learning rate
    """
    sign, _ = SIGNS[finding.severity]
    hints = [("       " if at else "  try  ") + line for at, line in enumerate(advice.splitlines())]
    return [f"{sign} {one_line(str(finding))}", *map(printable, hints)]


def print_finding(finding: Finding, advice: str = "", console: Console | None = None) -> None:
    """Print a finding in colour, to stderr unless a console is given."""
    from sickbay.console import Text

    _, style = SIGNS[finding.severity]
    first, *rest = finding_lines(finding, advice)
    text = Text(first, style="")
    text.highlight_words([finding.title], style)
    text.stylize(style, 0, 1)
    (console or _console()).print(
        Text("\n").join([text, *(Text(line, style="dim") for line in rest)]), soft_wrap=True
    )


def print_treatment(text: str) -> None:
    """Print what was changed in the loop."""
    from sickbay.console import Text

    line = Text(f"✚ {one_line(text)}")
    line.stylize("green", 0, 1)
    _console().print(line, soft_wrap=True)


def print_notice(text: str) -> None:
    """Print a notice about sickbay itself."""
    from sickbay.console import Text

    _console().print(Text(f"· sickbay: {one_line(text)}", style="dim"), soft_wrap=True)


def _console() -> Console:
    from sickbay.console import Screen  # here, since rich is slow to import

    return Screen(stderr=True)
