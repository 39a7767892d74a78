"""What the benchmark can be asked for, and which runs that means."""

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
    add_where(parser.add_argument_group("where it goes"))
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
        "runs on made-up data and scikit-learn's digits",
    )
    group.add_argument(
        "--only",
        metavar="PATTERN",
        help="only runs whose name has this in it, or matches it (*, ?); prints all they say",
    )
    group.add_argument("--quick", action="store_true", help="a few runs of each problem")
    group.add_argument(
        "--half",
        choices=(*HALVES, "both"),
        default="both",
        help="even seeds calibrate, odd seeds report (both)",
    )
    again = group.add_mutually_exclusive_group()
    again.add_argument("--fresh", action="store_true", help="train again what is recorded already")
    again.add_argument(
        "--outdated", action="store_true", help="train again what is recorded from another plan"
    )
    again.add_argument("--recorded", action="store_true", help="train nothing, judge what is there")


def add_what(group: argparse._MutuallyExclusiveGroup) -> None:
    group.add_argument("--list", action="store_true", help="list the runs")
    group.add_argument(
        "--check", action="store_true", help="only train, and compare the scores with the twins'"
    )
    group.add_argument(
        "--sweep",
        nargs="*",
        metavar="PROBLEM",
        help="precision and recall against each threshold of the default profile, or of these "
        "problems, on the calibration half",
    )
    group.add_argument(
        "--every",
        nargs="?",
        const=EVERY,
        metavar="N,N",
        help=f"delay and cost against how often one looks ({EVERY})",
    )
    group.add_argument(
        "--live",
        action="store_true",
        help="train with the default doctor as a user has it, and compare with the replay",
    )


def add_where(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--runs",
        metavar="DIR",
        type=Path,
        default=Path("runs/detection"),
        help="where runs are recorded; what is there is not trained again (runs/detection)",
    )
    group.add_argument("--json", metavar="FILE", type=Path, help="everything, run by run")
    group.add_argument("--markdown", metavar="FILE", type=Path, help="the tables as a page")
    group.add_argument(
        "--figure", metavar="FILE", type=Path, help="what --sweep draws (DIR of --runs/sweep.png)"
    )
    group.add_argument(
        "--profile",
        choices=tuple(PROFILES),
        default="default",
        help="the profile that the tables are about (default)",
    )


def select(cases: Sequence[Case], given: argparse.Namespace) -> list[Case]:
    """Return the cases that are asked for, or say what there is."""
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
        raise UsageError("There are no such runs; --list shows all there are.")
    return chosen


def no_such_run(pattern: str, names: Sequence[str]) -> UsageError:
    families = sorted({name.partition("/")[0] for name in names})
    near = unknown_name("run", pattern, [*families, *names]).args[0].partition(" Possible")[0]
    return UsageError(f"{near} Families: {', '.join(families)}. --list shows every name.")
