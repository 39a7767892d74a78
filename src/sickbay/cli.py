"""The command line: `sickbay demo`, `checkup`, `problems`, `explain NAME` and `replay STUDY`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import fields
from errno import ENOSPC, EPIPE
from inspect import getdoc
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

from sickbay import __version__
from sickbay.arguments import check_choice, check_int
from sickbay.errors import SickbayError
from sickbay.printable import one_line
from sickbay.problems.profiles import EVERY, PROFILES, profiles_of

UNREAD = 141  # as of a program that SIGPIPE has ended
EPOCHS = 1_000_000  # of a demo at the most
ODDS = Path(__file__).with_name("remedies") / "odds.json"
DEMOS = (  # the names of `demo.PATIENTS`, which load torch
    "vanishing_gradient", "exploding_gradient", "dying_relu", "oscillating_loss",
    "slow_convergence", "improper_output", "improper_loss", "abnormal_data",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code.

    That is 0 if it is done, 2 for wrong arguments, 130 if it was interrupted, 141 if nobody reads
    what it prints any more. A checkup returns 1 if a test has failed that must not.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # not every terminal has all signs
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _obeyed(_parser().parse_args(arguments))
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except SystemExit as error:  # as rich ends a program whose reader is gone
        if not isinstance(error.__context__, BrokenPipeError):
            raise
    except OSError as error:
        if error.errno not in (EPIPE, ENOSPC):
            raise
        _drop_output()
        if error.errno == ENOSPC:
            print(f"sickbay: {error.strerror}.", file=sys.stderr)
            return 2
    return UNREAD


def _obeyed(options: argparse.Namespace) -> int:
    """Run the command; say in one line what was wrong."""
    try:
        return options.command(options) or 0
    except SickbayError as error:
        print(f"sickbay: {one_line(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("sickbay: interrupted.", file=sys.stderr)
        return 130


def _drop_output() -> None:
    """Let what is still to be printed go nowhere: Python would try again at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(one_line(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="sickbay", description="Watch a neural network train and say what is wrong with it."
    )
    parser.add_argument("--version", action="version", version=f"sickbay {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="a sick network: found, repaired, retrained")
    demo.add_argument("--epochs", type=int, default=30, help="epochs of a training (default: 30)")
    demo.add_argument(
        "--chart", metavar="DIR", help="record every attempt in this folder (a temporary one)"
    )
    demo.add_argument("--json", action="store_true", help="print what came of it as JSON, only")
    what = demo.add_mutually_exclusive_group()
    what.add_argument(
        "--problem", metavar="NAME", default=DEMOS[0], help=f"one of: {', '.join(DEMOS)}"
    )
    what.add_argument(
        "--inject",
        metavar="FAULT",
        help="only watch a healthy network with a fault put in, as in nan_gradient@50",
    )
    demo.set_defaults(command=_demo)
    _add_checkup(commands.add_parser("checkup", help="examine a model before its first step"))
    problems = commands.add_parser("problems", help="list what can be found")
    problems.set_defaults(command=_problems)
    explain = commands.add_parser("explain", help="say all about one problem, or test of a checkup")
    explain.add_argument(
        "name",
        metavar="NAME",
        help=f"one of: {', '.join(sorted(EVERY))}; or what `checkup --list` names",
    )
    explain.set_defaults(command=_explain)
    add_replay_options(commands.add_parser("replay", help="what would have been ended in a search"))
    return parser


def _add_checkup(checkup: argparse.ArgumentParser) -> None:
    checkup.description = "Examine a model before its first step. Exit code 1: a test has failed."
    checkup.add_argument(
        "factory",
        nargs="?",
        metavar="PACKAGE.MODULE:FUNCTION",
        help="returns the model, or a dict with model, batch, loss, optimizer, task, validation",
    )
    checkup.add_argument(
        "--batch",
        metavar="BATCH",
        help="a function as above, or a shape: 8x3x32x32 for numbers, 8x128:65 for tokens below 65",
    )
    checkup.add_argument("--loss", metavar="NAME", help="as in torch.nn:CrossEntropyLoss")
    checkup.add_argument("--task", metavar="TASK", help="what is to be learnt, as in multiclass")
    checkup.add_argument(
        "--tests", metavar="NAMES", help="only these, with commas between them; all: all there are"
    )
    checkup.add_argument("--list", action="store_true", help="list the tests, and examine nothing")
    form = checkup.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the report as JSON")
    form.add_argument("--sarif", action="store_true", help="print the failures as SARIF 2.1.0")
    checkup.add_argument(
        "--fail-on",
        choices=("warning", "critical", "never"),
        default="critical",
        help="least severity of a failure that makes the exit code 1 (default: critical)",
    )
    checkup.add_argument("--quiet", action="store_true", help="show no progress bar")
    checkup.set_defaults(command=_checkup)


def add_replay_options(replay: argparse.ArgumentParser) -> None:
    """Add the arguments of `sickbay replay` to a parser."""
    replay.description = "Judge the recorded trials of a search again, with the rules of a profile."
    replay.add_argument(
        "sources",
        nargs="+",
        metavar="STUDY",
        help="a folder of charts, an Optuna journal, or an Optuna storage such as sqlite:///FILE",
    )
    replay.add_argument("--study", metavar="NAME", help="which study of the storage")
    replay.add_argument(
        "--profile", metavar="NAME", default="tuning", help=f"one of: {', '.join(PROFILES)}"
    )
    replay.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="NAME.THRESHOLD=VALUE",
        help="change a threshold, or leave an indicator out with NAME=off; as often as needed",
    )
    replay.add_argument("--metric", metavar="NAME", help="what trials are compared by")
    replay.add_argument("--direction", metavar="WAY", help="maximize or minimize")
    replay.add_argument("--trials", action="store_true", help="list all trials of each indicator")
    replay.add_argument(
        "--calibrate",
        action="store_true",
        help="search thresholds that save the most time and lose none of the ten best",
    )
    replay.add_argument("--json", metavar="FILE", help="write all of it to this file")
    replay.add_argument("--plot", metavar="FILE", help="draw it, as in saved.png")
    replay.set_defaults(command=_replay)


def _demo(options: argparse.Namespace) -> None:
    check_int("--epochs", options.epochs, least=1, most=EPOCHS)
    check_choice("demo", options.problem, DEMOS)
    from sickbay.demo import command  # here: it loads torch; the other commands do not need it

    command.run(options)


def _problems(_options: argparse.Namespace) -> None:
    from sickbay.console import Console, Table

    table = Table("problem", "what it is", "profiles", box=None, pad_edge=False)
    for name, kind in sorted(EVERY.items()):
        summary = (getdoc(kind) or "").partition("\n")[0]
        table.add_row(name, summary, ", ".join(profiles_of(name)))
    Console().print(table)


def _explain(options: argparse.Namespace) -> None:
    if options.name not in EVERY:
        from sickbay.checkups import command  # here: it loads torch

        print(command.explained(options.name))
        return
    kind = EVERY[options.name]
    print(f"{options.name} ({kind.severity})\n\n{getdoc(kind)}\n\nWhat to try:\n    {kind.advice}")
    _remedies(options.name)
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


def _remedies(problem: str) -> None:
    """Print how often each remedy has cured a problem; from the table alone, without torch."""
    counts = json.loads(ODDS.read_text())["counts"].get(problem, {})
    if counts:
        print("\nRemedies, and in how many of the cases they were tried in each worked:")
    for remedy, (worked, tried) in sorted(counts.items(), key=lambda item: -item[1][0]):
        print(f"    {worked:3} of {tried:3}  {remedy}")


def _checkup(options: argparse.Namespace) -> int:
    from sickbay.checkups import command  # here: it loads torch

    return command.run(options)


def _replay(options: argparse.Namespace) -> None:
    from sickbay.tuning import replay_command  # without torch

    replay_command.run(options)
