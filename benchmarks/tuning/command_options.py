"""The options of `run` and `live`; what they need is loaded only when they are called."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from benchmarks.tuning.tasks import TASKS

POOLS = Path(__file__).with_name("pools")
NAMES = ("random", "TPE", "GP", "SMAC")
RULES = ("plain", "median", "extrapolation", "bttackler", "tuning")


def add_run(commands: Any) -> None:
    """Add `run` to the commands."""
    parser = commands.add_parser("run", help="play searches on the recorded pools, and compare")
    parser.add_argument("--pools", type=Path, default=POOLS, help="folder (default: beside this)")
    parser.add_argument("--part", choices=("calibration", "reporting"), default="reporting")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), help="(default: all there are)")
    parser.add_argument("--searchers", nargs="+", choices=NAMES, help="(default: all installed)")
    parser.add_argument("--rules", nargs="+", choices=RULES, default=RULES, help="(default: all)")
    parser.add_argument("--seeds", type=int, default=20, help="of each kind (default: 20)")
    parser.add_argument(
        "--trials", type=float, help="whole ones in the budget (default: an eighth of the part)"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--json", type=Path, help="everything, search by search")
    parser.add_argument("--docs", type=Path, help="the tables as a page, the plot beside it")
    parser.add_argument("--plot", type=Path, help="best so far over time, as a PNG")
    parser.set_defaults(command=_run)


def add_live(commands: Any) -> None:
    """Add `live` to the commands."""
    parser = commands.add_parser("live", help="search for real, plain beside tuning")
    parser.add_argument("--data", type=Path, required=True, help="folder of the datasets")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--quick", action="store_true", help="few samples and epochs, small models")
    parser.add_argument(
        "--minutes", type=float, help="of a search (default: 60, with --quick 3); two at a time"
    )
    parser.add_argument("--json", type=Path, help="everything, trial by trial")
    parser.add_argument("--docs", type=Path, help="the tables as a page")
    parser.set_defaults(command=_live)


def _live(options: argparse.Namespace) -> None:
    from benchmarks.tuning.live_command import run

    run(options)


def _run(options: argparse.Namespace) -> None:
    from benchmarks.tuning.run_command import run

    run(options)
