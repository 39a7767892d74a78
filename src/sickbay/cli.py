"""The command line: `sickbay demo`, `checkup`, `problems`, `explain NAME` and `replay STUDY`.

Commands that need torch are imported only when they run, so that the others start fast.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from errno import ENOSPC, EPIPE
from inspect import getdoc
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

from sickbay import __version__
from sickbay.arguments import check_choice, check_int
from sickbay.errors import SickbayError
from sickbay.printable import one_line
from sickbay.problems.by_name import EVERY, RENAMED, find, installed
from sickbay.problems.profiles import PROFILES, profiles_of
from sickbay.thresholds import Tunable, is_number, settings

BROKEN_PIPE = 141  # the exit code of a program that SIGPIPE ends
MOST_EPOCHS = 1_000_000  # of a demo
ODDS = Path(__file__).with_name("remedies") / "odds.json"
DEMOS = (  # the names of `demo.flawed_models`, which needs torch; a test compares them
    "vanishing_gradient", "exploding_gradient", "dying_relu", "oscillating_accuracy",
    "slow_convergence", "improper_output", "improper_loss", "abnormal_data",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    The exit code is 0 on success, 1 if a checkup fails, 2 for wrong arguments, 130 after an
    interrupt, and 141 if the reader of the output has gone away.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # the terminal may lack some characters
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(_parser().parse_args(arguments))
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except SystemExit as error:  # how rich ends a program whose reader has gone away
        if not isinstance(error.__context__, BrokenPipeError):
            raise
    except OSError as error:
        if error.errno not in (EPIPE, ENOSPC):
            raise
        _drop_output()
        if error.errno == ENOSPC:
            print(f"sickbay: {error.strerror}.", file=sys.stderr)
            return 2
    return BROKEN_PIPE


def _run(options: argparse.Namespace) -> int:
    """Run the chosen command. Print errors of the user in one line."""
    try:
        return options.command(options) or 0
    except SickbayError as error:
        print(f"sickbay: {one_line(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("sickbay: interrupted.", file=sys.stderr)
        return 130


def _drop_output() -> None:
    """Discard pending output, which Python would try to write again when it exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(one_line(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="sickbay", description="Watch neural networks train and find out what is wrong."
    )
    parser.add_argument("--version", action="version", version=f"sickbay {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_demo(commands.add_parser("demo", help="diagnose and repair a sick network"))
    _add_checkup(commands.add_parser("checkup", help="examine a model before training"))
    problems = commands.add_parser("problems", help="list all problems that sickbay can find")
    problems.set_defaults(command=_problems)
    explain = commands.add_parser("explain", help="explain a problem, a remedy or a checkup test")
    explain.add_argument(
        "name",
        metavar="NAME",
        help=f"one of: {', '.join(sorted(EVERY))}; or a remedy, or a test from `checkup --list`",
    )
    explain.set_defaults(command=_explain)
    add_replay_options(
        commands.add_parser(
            "replay", help="show which trials of a finished search would have ended"
        )
    )
    return parser


def _add_demo(demo: argparse.ArgumentParser) -> None:
    demo.description = "Train a sick network, find its problem, repair it and train it again."
    demo.add_argument(
        "--epochs", type=int, default=30, help="epochs per training run (default: 30)"
    )
    demo.add_argument(
        "--chart", metavar="DIR", help="record every attempt here (default: a temporary folder)"
    )
    demo.add_argument("--json", action="store_true", help="print only the result, as JSON")
    what = demo.add_mutually_exclusive_group()
    what.add_argument(
        "--problem",
        metavar="NAME",
        default=DEMOS[0],
        help=f"what is wrong with the network: {', '.join(DEMOS)}",
    )
    what.add_argument(
        "--inject",
        metavar="FAULT",
        help="watch a healthy network with a fault instead, such as nan_gradient@50",
    )
    demo.set_defaults(command=_demo)


def _add_checkup(checkup: argparse.ArgumentParser) -> None:
    checkup.description = "Examine a model before training. The exit code is 1 if a test fails."
    checkup.add_argument(
        "factory",
        nargs="?",
        metavar="PACKAGE.MODULE:FUNCTION",
        help="a function that returns the model, "
        "or a dict with model, batch, loss, optimizer, task, validation",
    )
    checkup.add_argument(
        "--batch",
        metavar="BATCH",
        help="a function, or a shape: 8x3x32x32 for numbers, 8x128:65 for tokens below 65",
    )
    checkup.add_argument(
        "--loss", metavar="NAME", help="the loss, for example torch.nn:CrossEntropyLoss"
    )
    checkup.add_argument("--task", metavar="TASK", help="the task, for example multiclass")
    checkup.add_argument(
        "--tests", metavar="NAMES", help="names of the tests to run, separated by commas; or all"
    )
    checkup.add_argument("--list", action="store_true", help="list the tests and exit")
    form = checkup.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the report as JSON")
    form.add_argument("--sarif", action="store_true", help="print the failures as SARIF 2.1.0")
    checkup.add_argument(
        "--fail-on",
        choices=("warning", "critical", "never"),
        default="critical",
        help="lowest severity that makes the exit code 1 (default: critical)",
    )
    checkup.add_argument("--quiet", action="store_true", help="hide the progress bar")
    checkup.set_defaults(command=_checkup)


def add_replay_options(replay: argparse.ArgumentParser) -> None:
    """Add the arguments of `sickbay replay` to a parser."""
    replay.description = "Show which trials of a recorded search a profile would have ended."
    replay.add_argument(
        "sources",
        nargs="+",
        metavar="STUDY",
        help="a folder of charts, an Optuna journal, or an Optuna storage such as sqlite:///FILE",
    )
    replay.add_argument("--study", metavar="NAME", help="the study to read from the storage")
    replay.add_argument(
        "--profile", metavar="NAME", default="tuning", help=f"one of: {', '.join(PROFILES)}"
    )
    replay.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="NAME.THRESHOLD=VALUE",
        help="change a threshold, or drop a problem with NAME=off; may be repeated",
    )
    replay.add_argument("--metric", metavar="NAME", help="the metric that ranks the trials")
    replay.add_argument("--direction", metavar="WAY", help="maximize or minimize")
    replay.add_argument(
        "--trials", action="store_true", help="list the trials that each problem would have ended"
    )
    replay.add_argument(
        "--calibrate",
        action="store_true",
        help="search for thresholds that save the most time and lose none of the ten best trials",
    )
    replay.add_argument("--json", metavar="FILE", help="write all results to this file")
    replay.add_argument(
        "--plot", metavar="FILE", help="draw the results to this file, for example saved.png"
    )
    replay.set_defaults(command=_replay)


def _demo(options: argparse.Namespace) -> None:
    check_int("--epochs", options.epochs, least=1, most=MOST_EPOCHS)
    options.problem = check_choice("demo", RENAMED.get(options.problem, options.problem), DEMOS)
    from sickbay.demo import command

    command.run(options)


def _checkup(options: argparse.Namespace) -> int:
    from sickbay.checkups import command

    return command.run(options)


def _replay(options: argparse.Namespace) -> None:
    from sickbay.tuning import replay_command

    replay_command.run(options)


def _problems(_options: argparse.Namespace) -> None:
    from sickbay.console import Console, Table

    table = Table("problem", "what it is", "profiles", box=None, pad_edge=False)
    for name, kind in sorted(installed().items()):
        summary = (getdoc(kind) or "").partition("\n")[0]
        table.add_row(name, summary, ", ".join(profiles_of(name)))
    Console().print(table)


def _explain(options: argparse.Namespace) -> None:
    if options.name not in {*EVERY, *RENAMED} and options.name not in installed():
        _explain_other(options.name)
        return
    kind = find(options.name)
    name = kind.name()
    print(f"{name} ({kind.severity})\n\n{getdoc(kind)}")
    if kind.advice:
        print(f"\nWhat to try:\n    {kind.advice}")
    _print_remedies(name)
    by_profile = {
        profile: problem
        for profile, problems in PROFILES.items()
        for problem in problems
        if problem.name() == name
    }
    own = {profile: each for profile, each in by_profile.items() if type(each) is kind}
    _print_settings("Thresholds", own or {"": kind()})
    for profile, problem in by_profile.items():
        if profile not in own:
            print(f"\nThe rule of the profile {profile}:\n\n{getdoc(problem)}")
            _print_settings("Thresholds", {profile: problem})


def _explain_other(name: str) -> None:
    """Print the documentation of a remedy or a checkup test."""
    from sickbay.checkups import command
    from sickbay.remedies import by_problem

    kind = by_problem.installed().get(name)
    if kind is None:
        print(command.explained(name))
        return
    problems = ", ".join(by_problem.treats(kind()))
    print(f"{name} ({kind.safety})\n\n{getdoc(kind)}\n\nTreats:\n    {problems}")
    _print_settings("Settings", {"": kind()})


def _print_remedies(problem: str) -> None:
    """Print how often each remedy has cured a problem. This needs no torch."""
    counts = json.loads(ODDS.read_text())["counts"].get(problem, {})
    if counts:
        print("\nRemedies, with the number of cases that each has cured:")
    for remedy, (cured, tried) in sorted(counts.items(), key=lambda item: -item[1][0]):
        print(f"    {cured:3} of {tried:3}  {remedy}")


def _print_settings(title: str, by_profile: Mapping[str, Tunable]) -> None:
    """Print the settings of a problem or a remedy, and their values in each profile."""
    declared = settings(type(next(iter(by_profile.values()))))
    if declared:
        print(f"\n{title}:")
    for setting in declared:
        form = "g" if is_number(setting) else ""
        values = [
            f"{profile} {getattr(problem, setting.name):{form}}".strip()
            for profile, problem in by_profile.items()
        ]
        print(f"    {setting.name}  {setting.metadata.get('doc', '')}".rstrip())
        print(f"        {', '.join(values)}")
