"""The command line: `sickbay demo`, `sickbay problems`, `sickbay explain NAME`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields
from inspect import getdoc

from sickbay import __version__
from sickbay.errors import SickbayError, UsageError, unknown
from sickbay.problems.profiles import EVERY, PROFILES, profiles_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0 done, 2 wrong arguments, 130 interrupted."""
    options = _parser().parse_args(arguments)
    try:
        options.command(options)
    except SickbayError as error:
        print(f"sickbay: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("sickbay: interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader has seen enough
        sys.stderr.close()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sickbay", description="Watch a neural network train and say what is wrong with it."
    )
    parser.add_argument("--version", action="version", version=f"sickbay {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="a sick network, found out within seconds")
    demo.add_argument("--epochs", type=int, default=30, help="epochs to train (default: 30)")
    demo.add_argument("--chart", metavar="DIR", help="record the run in this folder")
    demo.add_argument(
        "--inject", metavar="FAULT", help="a healthy network with a fault, as in nan_gradient@50"
    )
    demo.set_defaults(command=_demo)
    problems = commands.add_parser("problems", help="list what can be found")
    problems.set_defaults(command=_problems)
    explain = commands.add_parser("explain", help="say all about one problem")
    explain.add_argument("name", metavar="NAME", help=f"one of: {', '.join(sorted(EVERY))}")
    explain.set_defaults(command=_explain)
    return parser


def _demo(options: argparse.Namespace) -> None:
    if options.epochs < 1:
        raise UsageError(f"--epochs must be at least 1, got {options.epochs}.")
    from rich.console import Console

    from sickbay import demo, inject  # here: they load torch; the other commands do not need it

    console = Console()
    fault = inject.parse(options.inject) if options.inject is not None else None
    network = (
        f"healthy network with {fault}" if fault else f"network of {demo.LAYERS} sigmoid layers"
    )
    console.print(
        f"Training a {network} to tell two circles apart, {options.epochs} epochs, watched."
    )
    result = demo.run(options.epochs, options.chart, console, fault)
    names = ", ".join(dict.fromkeys(each.problem for each in result.findings)) or "nothing"
    console.print(f"Accuracy {result.accuracy:.2f}, where guessing gives 0.50. Found: {names}.")
    if result.findings:
        console.print(f"More: sickbay explain {result.findings[0].problem}")
    if result.chart:
        console.print(f"Recorded in {result.chart}", soft_wrap=True)


def _problems(_options: argparse.Namespace) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("problem", "what it is", "profiles", box=None, pad_edge=False)
    for name, kind in sorted(EVERY.items()):
        summary = (getdoc(kind) or "").partition("\n")[0]
        table.add_row(name, summary, ", ".join(profiles_of(name)))
    Console().print(table)


def _explain(options: argparse.Namespace) -> None:
    if options.name not in EVERY:
        raise unknown("problem", options.name, EVERY)
    kind = EVERY[options.name]
    print(f"{options.name} ({kind.severity})\n\n{getdoc(kind)}\n\nWhat to try:\n    {kind.advice}")
    tuned = {
        profile: problem
        for profile, problems in PROFILES.items()
        for problem in problems
        if type(problem) is kind
    }
    if not fields(kind):  # type: ignore[arg-type]
        return
    print("\nThresholds:")
    for limit in fields(kind):  # type: ignore[arg-type]
        values = ", ".join(f"{name} {getattr(each, limit.name):g}" for name, each in tuned.items())
        print(f"    {limit.name}  {limit.metadata['doc']}\n        {values}")
