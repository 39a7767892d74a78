"""The command `sickbay demo`."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from tempfile import mkdtemp

from sickbay import demo, inject
from sickbay.arguments import check_path
from sickbay.console import Console
from sickbay.demo import show_watch
from sickbay.errors import UsageError
from sickbay.printable import one_line, printable
from sickbay.repairs.outcome import plain
from sickbay.safe_files import write_error


def run(options: Namespace) -> None:
    """Repair a sick network, or watch one that a fault is put into."""
    if options.chart is not None:
        _make(check_path("--chart", options.chart))
    if options.inject is not None:
        _watch(options)
    else:
        _repair(options)


def _repair(options: Namespace) -> None:
    console = Console(quiet=options.json)
    chart = options.chart or _temporary()
    about = demo.PATIENTS[options.problem].about
    console.print(f"Two circles are to be told apart by {about}.", soft_wrap=True)
    result = demo.run(options.problem, options.epochs, chart, console, progress=not options.json)
    if options.json:
        print(json.dumps(result.as_json(), indent=2))
        return
    outcome = result.outcome
    verdict = "repaired" if outcome.solved else "not repaired"
    console.print(
        f"\nAccuracy {result.before:.2f} as it was, {outcome.score:.2f} {verdict}, "
        f"in {outcome.epochs:.0f} epochs where one training has {options.epochs}."
    )
    console.print("The change:")
    console.print(printable(outcome.diff), markup=False, highlight=False, soft_wrap=True)
    _say(console, f"Every attempt is recorded in {outcome.chart}")
    _say(console, f"What came of it: {outcome.chart}/outcome.json")
    if outcome.findings:
        console.print(f"More: sickbay explain {outcome.findings[0].problem}")


def _watch(options: Namespace) -> None:
    console, fault = Console(quiet=options.json), inject.parse(options.inject)
    _say(
        console,
        f"Training a healthy network with {fault} to tell two circles apart, "
        f"{options.epochs} epochs, watched.",
    )
    result = show_watch.run(options.epochs, fault, options.chart, console)
    if options.json:
        told = {"accuracy": result.accuracy, "findings": list(map(asdict, result.findings))}
        print(json.dumps(plain(told), indent=2))
        return
    names = ", ".join(dict.fromkeys(each.problem for each in result.findings)) or "nothing"
    console.print(f"Accuracy {result.accuracy:.2f}, where guessing gives 0.50. Found: {names}.")
    if result.findings:
        console.print(f"More: sickbay explain {result.findings[0].problem}")
    if result.chart:
        _say(console, f"Recorded in {result.chart}")


def _say(console: Console, text: str) -> None:
    """Print a line with somebody's own names in it, which may look like markup."""
    console.print(one_line(text), markup=False, emoji=False, soft_wrap=True)


def _make(path: Path) -> None:
    """Make a folder to write to, before the work begins."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(path, error) from None
    if not os.access(path, os.W_OK):
        raise UsageError(f"--chart must be a folder that can be written to, got {str(path)!r}.")


def _temporary() -> str:
    try:
        return mkdtemp(prefix="sickbay-demo-")
    except OSError as error:
        why = f"there is no temporary one ({error.strerror or error})"
        raise UsageError(f"--chart must name a folder, as {why}.") from None
