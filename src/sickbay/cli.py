"""The command line: `sickbay demo`, `checkup`, `fit`, `problems`, `explain NAME`, `replay STUDY`.

Commands that need torch are imported only when they run, so that the others start fast.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from errno import ENOSPC, EPIPE
from functools import partial
from io import TextIOWrapper
from typing import NoReturn

from sickbay import __version__
from sickbay.arguments import check_choice, check_int
from sickbay.errors import SickbayError
from sickbay.explain import explain, list_problems
from sickbay.printable import one_line
from sickbay.problems.by_name import EVERY, RENAMED
from sickbay.problems.profiles import PROFILES

BROKEN_PIPE = 141  # the exit code of a program that SIGPIPE ends
MOST_EPOCHS = 1_000_000  # of a demo
DEMOS = (  # the names of `demo.flawed_models`, which needs torch; a test compares them
    "vanishing_gradient", "exploding_gradient", "dying_relu", "oscillating_accuracy",
    "slow_convergence", "improper_output", "improper_loss", "abnormal_data",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    The exit code is 0 on success, 1 if a checkup fails or a repair does not succeed, 2 for wrong
    arguments, 130 after an interrupt, and 141 if the reader of the output has gone away.
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
    _add_fit(commands.add_parser("fit", help="train a model, and repair what goes wrong"))
    problems = commands.add_parser("problems", help="list all problems that sickbay can find")
    problems.set_defaults(command=lambda _: list_problems())
    explaining = commands.add_parser(
        "explain", help="explain a problem, a remedy or a checkup test"
    )
    explaining.add_argument(
        "name",
        metavar="NAME",
        help=f"one of: {', '.join(sorted(EVERY))}; or a remedy, or a test from `checkup --list`",
    )
    explaining.set_defaults(command=lambda options: explain(options.name))
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
    checkup.add_argument(
        "--seconds", type=float, metavar="S", help="start no further test after this time"
    )
    checkup.add_argument("--list", action="store_true", help="list the tests and exit")
    form = checkup.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the report as JSON")
    form.add_argument("--sarif", action="store_true", help="print the failures as SARIF 2.1.0")
    form.add_argument("--junit", action="store_true", help="print the tests as JUnit XML")
    checkup.add_argument(
        "--fail-on",
        choices=("warning", "critical", "never"),
        default="critical",
        help="lowest severity that makes the exit code 1 (default: critical)",
    )
    checkup.add_argument("--quiet", action="store_true", help="hide the progress bar")
    checkup.set_defaults(command=_checkup)


def _add_fit(fit: argparse.ArgumentParser) -> None:
    fit.description = (
        "Train a model, and repair what goes wrong. An option overrides the same setting in "
        "--config, and that overrides what the function returns. The exit code is 1 if nothing "
        "helped."
    )
    fit.add_argument(
        "factory",
        metavar="PACKAGE.MODULE:FUNCTION",
        help="a function that returns a dict with model, data, loss and optimizer, and any other "
        "argument of sickbay.fit",
    )
    fit.add_argument("--config", metavar="FILE", help="settings of sickbay.fit, as JSON")
    add = partial(fit.add_argument, default=argparse.SUPPRESS)  # not given, so not a setting
    add("--epochs", type=int, metavar="N", help="epochs of one training run (default: 50)")
    add("--batch-size", type=int, metavar="N", help="samples in a batch (default: 32)")
    add("--target", type=float, metavar="SCORE", help="the score at which training is done")
    add("--metric", metavar="NAME", help="the score: accuracy, precision, recall, f1, r2 or loss")
    add("--strategy", metavar="NAME", help="race or autotrainer (default: race)")
    add("--profile", metavar="NAME", help=f"the problems to look for: {', '.join(PROFILES)}")
    add("--problems", type=_names, metavar="NAMES", help="these instead, separated by commas")
    add("--remedies", type=_names, metavar="NAMES", help="remedies to try, separated by commas")
    add("--budget", type=float, metavar="EPOCHS", help="epochs that all attempts may take")
    add("--workers", type=_workers, metavar="N", help="processes to train in, or ray")
    add("--device", metavar="DEVICE", help="where to train, for example cuda")
    add("--seed", type=int, metavar="N", help="for the order of the data and for dropout")
    add("--chart", metavar="DIR", help="record every attempt in a folder of its own, in here")
    add("--resume", action="store_true", help="continue the repair in --chart")
    fit.add_argument("--save", metavar="FILE", help="write the weights of the best model here")
    fit.add_argument("--json", action="store_true", help="print the outcome as JSON")
    fit.add_argument("--quiet", action="store_true", help="hide the progress bar and messages")
    fit.set_defaults(command=_fit)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _workers(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdecimal() else text


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


def _fit(options: argparse.Namespace) -> int:
    from sickbay.repairs import command

    return command.run(options)


def _replay(options: argparse.Namespace) -> None:
    from sickbay.tuning import replay_command

    replay_command.run(options)
