"""The options of `run`, `live` and `published`, whose modules are imported when they are called."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from benchmarks.tuning.tasks import RECORDED, TASKS

PROFILED = ("bttackler", "bttackler_paper", "tuning")
POOLS = Path(__file__).with_name("pools")
NAMES = ("random", "TPE", "GP", "SMAC")
RULES = ("plain", "median", "extrapolation", *PROFILED)


def add_run(commands: Any) -> None:
    """Add `run` to the commands."""
    parser = commands.add_parser(
        "run", help="simulate searches on the recorded pools, and compare them"
    )
    parser.add_argument("--pools", type=Path, default=POOLS, help="folder of the pools")
    parser.add_argument("--part", choices=("calibration", "reporting"), default="reporting")
    parser.add_argument(
        "--tasks", nargs="+", choices=list(TASKS), help="(default: all that have a pool)"
    )
    parser.add_argument("--searchers", nargs="+", choices=NAMES, help="(default: all installed)")
    parser.add_argument("--rules", nargs="+", choices=RULES, default=RULES, help="(default: all)")
    parser.add_argument("--seeds", type=int, default=20, help="searches of each kind (default: 20)")
    parser.add_argument(
        "--trials",
        type=float,
        help="budget of a search in whole trials (default: an eighth of the part)",
    )
    parser.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--json", type=Path, help="write everything, search by search")
    parser.add_argument("--docs", type=Path, help="write the tables as a page, with the plot")
    parser.add_argument("--plot", type=Path, help="plot the best score so far over time")
    parser.set_defaults(command=_run)


def add_live(commands: Any) -> None:
    """Add `live` to the commands."""
    parser = commands.add_parser(
        "live", help="run real searches, plain beside profiles that end trials"
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the datasets")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(RECORDED))
    parser.add_argument(
        "--rules", nargs="+", choices=PROFILED, default=PROFILED, help="profiles (default: all)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="use few samples and epochs, and small models"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        help="time of each search (default: 60, with --quick 3); two run at a time",
    )
    parser.add_argument("--trials", type=int, help="trials of each search, whatever time they take")
    parser.add_argument("--json", type=Path, help="write everything, trial by trial")
    parser.add_argument("--docs", type=Path, help="write the tables as a page")
    parser.set_defaults(command=_live)


def add_published(commands: Any) -> None:
    """Add `published` to the commands."""
    parser = commands.add_parser("published", help="compare with the tables of BTTackler's paper")
    parser.add_argument("--run", type=Path, required=True, help="JSON that `run` has written")
    parser.add_argument("--live", type=Path, help="JSON that `live` has written")
    parser.add_argument("--pools", type=Path, default=POOLS, help="folder of the pools")
    parser.add_argument("--seeds", type=int, default=20, help="random searches of each kind (20)")
    parser.add_argument("--json", type=Path, help="write the tables")
    parser.add_argument("--docs", type=Path, help="write the tables as a page")
    parser.set_defaults(command=_published)


def _published(options: argparse.Namespace) -> None:
    from benchmarks.tuning.published_command import run

    run(options)


def _live(options: argparse.Namespace) -> None:
    from benchmarks.tuning.live_command import run

    run(options)


def _run(options: argparse.Namespace) -> None:
    from benchmarks.tuning.run_command import run

    run(options)
