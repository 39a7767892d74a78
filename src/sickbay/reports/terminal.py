"""Findings and notices on the terminal, a line each, with advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sickbay.findings import Finding, Severity, Suggestion
from sickbay.health import Health
from sickbay.printable import one_line, printable

if TYPE_CHECKING:
    from sickbay.console import Console

SIGNS: Mapping[Severity, tuple[str, str]] = {
    "info": ("·", "cyan"),
    "warning": ("⚠", "yellow"),
    "critical": ("✖", "bold red"),
}


def advice(suggestions: Sequence[Suggestion]) -> str:
    r"""Return suggestions as lines: all that a paper makes, or else the best one.

    >>> half = Suggestion(words="halve the rate", code="lr /= 2", confidence=0.9)
    >>> print(advice([half, Suggestion(words="clip the gradients")]))
    halve the rate  (stated confidence 0.9)
    lr /= 2
    """
    shown = [each for each in suggestions if each.kind] or suggestions[:1]
    return "\n".join(line for each in shown for line in (str(each), *each.code.splitlines()))


def finding_lines(finding: Finding, advice: str = "") -> list[str]:
    r"""Return a finding as plain text.

    >>> finding = Finding(problem="non_finite", severity="critical", step=7, message="loss is nan")
    >>> print(*finding_lines(finding, "lower the learning rate"), sep="\n")
    ✖ step 7  non finite  loss is nan
      try  lower the learning rate
    """
    sign, _ = SIGNS[finding.severity]
    return [f"{sign} {one_line(str(finding))}", *_hints(advice)]


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


def report_lines(health: Health) -> list[str]:
    """Return how a run is doing as plain text.

    >>> print(*report_lines(Health(step=9, epoch=3, state="stable", trend="flat", loss=2.0)))
    ♥ step 9  stable: the loss is flat (2)
    """
    first = f"♥ step {health.step}  {one_line(str(health))}"
    reasons = (f"  {one_line(reason)}" for reason in health.reasons)
    return [first, *reasons, *_hints(advice(health.suggestions))]


def print_report(health: Health) -> None:
    """Print how a run is doing."""
    from sickbay.console import Text

    style = {"critical": "bold red", "unstable": "yellow"}.get(health.state, "green")
    first, *rest = report_lines(health)
    text = Text(first)
    text.stylize(style, 0, 1)
    _console().print(
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


def _hints(advice: str) -> list[str]:
    """Return advice as indented lines."""
    return [
        printable(("       " if at else "  try  ") + line)
        for at, line in enumerate(advice.splitlines())
    ]


def _console() -> Console:
    from sickbay.console import Screen  # here, since rich is slow to import

    return Screen(stderr=True)
