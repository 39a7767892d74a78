"""Command-line options of the detection benchmark, and the runs they select."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.command_line import check_file, matches, new_parser
from benchmarks.detection.case import Case
from sickbay.errors import UsageError, unknown_name
from sickbay.problems.profiles import PROFILES

HALVES = ("calibration", "reporting")
SMOKE = "smoke/"  # cases that belong to neither half
EVERY = "1,2,3,5,9,15"


def arguments(about: str, args: Sequence[str] | None) -> argparse.Namespace:
    parser = new_parser("detection", about)
    add_which(parser.add_argument_group("which runs"))
    add_what(parser.add_argument_group("instead of the report").add_mutually_exclusive_group())
    add_where(parser.add_argument_group("output"))
    given = parser.parse_args(args)
    for name in ("json", "markdown", "figure"):
        check_file(parser, name, getattr(given, name))
    if given.data is not None and not given.data.is_dir():
        parser.error(f"--data must be a folder that exists, got '{given.data}'.")
    return given


def add_which(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--data",
        metavar="DIR",
        type=Path,
        help="folder with the real data (MNIST, CIFAR-10, IMDB, Reuters, ...); without it, only "
        "runs on made-up data and scikit-learn's digits are used",
    )
    group.add_argument(
        "--only",
        metavar="PATTERN",
        help="only runs whose name contains or matches (*, ?) PATTERN; prints all their findings",
    )
    group.add_argument("--quick", action="store_true", help="a few runs of each problem")
    group.add_argument(
        "--half",
        choices=(*HALVES, "both"),
        default="both",
        help="even seeds calibrate, odd seeds report (both)",
    )
    again = group.add_mutually_exclusive_group()
    again.add_argument("--fresh", action="store_true", help="train recorded runs again")
    again.add_argument(
        "--outdated",
        action="store_true",
        help="train recorded runs again if their plan has changed",
    )
    again.add_argument(
        "--recorded", action="store_true", help="train nothing and use only recorded runs"
    )


def add_what(group: argparse._MutuallyExclusiveGroup) -> None:
    group.add_argument("--list", action="store_true", help="list the runs")
    group.add_argument(
        "--check",
        action="store_true",
        help="only train, and compare scores with those of the twins",
    )
    group.add_argument(
        "--sweep",
        nargs="*",
        metavar="PROBLEM",
        help="plot precision and recall against each threshold of the default profile, or of these "
        "problems, on the calibration half",
    )
    group.add_argument(
        "--every",
        nargs="?",
        const=EVERY,
        metavar="N,N",
        help=f"show delay and cost for these intervals between readings ({EVERY})",
    )
    group.add_argument(
        "--live",
        action="store_true",
        help="train with the default doctor, as a user would, and compare with the replay",
    )


def add_where(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--runs",
        metavar="DIR",
        type=Path,
        default=Path("runs/detection"),
        help="folder of recorded runs, which are not trained again (runs/detection)",
    )
    group.add_argument(
        "--json", metavar="FILE", type=Path, help="write all results, run by run, to FILE"
    )
    group.add_argument(
        "--markdown", metavar="FILE", type=Path, help="write the tables as a page to FILE"
    )
    group.add_argument(
        "--figure",
        metavar="FILE",
        type=Path,
        help="file for the plot of --sweep (sweep.png in the folder of --runs)",
    )
    group.add_argument(
        "--profile",
        choices=tuple(PROFILES),
        default="default",
        help="profile shown in the tables (default)",
    )


def select(cases: Sequence[Case], given: argparse.Namespace) -> list[Case]:
    """Return the cases that the arguments select. Raise `UsageError` if there are none."""
    chosen = [
        case
        for case in cases
        if given.half in ("both", HALVES[case.seed % 2]) or case.name.startswith(SMOKE)
    ]
    if given.quick:
        chosen = [case for case in chosen if case.quick]
    if given.only is not None:
        names = [case.name for case in chosen]
        chosen = [case for case in chosen if matches(case.name, given.only)]
        if not chosen:
            raise no_such_run(given.only, names)
    if not chosen:
        raise UsageError("There are no such runs. --list shows all runs.")
    return chosen


def no_such_run(pattern: str, names: Sequence[str]) -> UsageError:
    families = sorted({name.partition("/")[0] for name in names})
    near = unknown_name("run", pattern, [*families, *names]).args[0].partition(" Possible")[0]
    return UsageError(f"{near} Families: {', '.join(families)}. --list shows every name.")
