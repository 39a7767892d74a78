"""Measure how many faulty runs `sickbay.repair` repairs, with both strategies.

The runs come from the detection benchmark and have one of AutoTrainer's eight problems. Each run is
trained unchanged, as its healthy twin, and with `sickbay.repair`. It counts as repaired if no
problem is found any more and its score is within 2 points of the twin's. Healthy runs must stay
unchanged.

`--odds` tries every remedy separately. `--odds count` uses runs with even seeds and writes the odds
that the package ships. `--odds judge` checks these odds on the other runs.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import torch
from rich.console import Console

from benchmarks.command_line import new_parser, output_console
from benchmarks.detection.figures import AUTOTRAINER_EIGHT
from benchmarks.repair import autotrainer_demos, count_odds, tables
from benchmarks.repair.repair_cases import RepairCase, repair_cases
from benchmarks.repair.repair_run import Record, run_case
from benchmarks.report_page import Sheet
from benchmarks.worker_pool import Failure, work
from sickbay.repairs.strategy import STRATEGIES, StrategyName

SHIPPED = Path("src/sickbay/remedies/odds.json")


def arguments(args: Sequence[str] | None) -> argparse.Namespace:
    parser = new_parser("repair", __doc__)
    parser.add_argument("--data", metavar="DIR", type=Path, help="folder with the real data sets")
    parser.add_argument("--quick", action="store_true", help="a few runs of each problem")
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="only runs whose name contains TEXT"
    )
    parser.add_argument(
        "--half",
        choices=("calibration", "reporting", "both"),
        default="reporting",
        help="even seeds calibrate, odd seeds report (reporting)",
    )
    parser.add_argument(
        "--strategy", choices=(*STRATEGIES, "both"), default="both", help="how to repair (both)"
    )
    parser.add_argument("--no-healthy", action="store_true", help="leave out the healthy runs")
    parser.add_argument(
        "--json", metavar="FILE", type=Path, help="write all results, run by run, to FILE"
    )
    parser.add_argument(
        "--markdown", metavar="FILE", type=Path, help="write the tables as a page to FILE"
    )
    parser.add_argument(
        "--odds",
        choices=("count", "judge"),
        help=f"try every remedy separately; count writes {SHIPPED}",
    )
    given = parser.parse_args(args)
    if given.data is not None and not given.data.is_dir():
        parser.error(f"--data must be a folder, got '{given.data}'.")
    return given


def select(given: argparse.Namespace) -> list[RepairCase]:
    """Return the runs that the arguments select."""
    problems = AUTOTRAINER_EIGHT if given.no_healthy or given.odds else (*AUTOTRAINER_EIGHT, "")
    half = {"count": "calibration", "judge": "reporting"}.get(given.odds, given.half)
    wanted = {"calibration": (0,), "reporting": (1,), "both": (0, 1)}[half]
    return [
        each
        for each in repair_cases(given.data, problems)
        if each.seed % 2 in wanted
        and given.only in each.name
        and (each.quick or not given.quick)
        and not (given.odds and each.seed % 4 > 1)  # every second run of the half is enough
    ]


def portable_arguments(args: Sequence[str]) -> Iterator[str]:
    """Yield the arguments without the paths of this machine."""
    given = iter(args)
    for each in given:
        if each in ("--json", "--markdown"):
            next(given, None)
        else:
            yield each
            if each == "--data":
                next(given, None)
                yield "DIR"


def run_all(
    job: Callable[[RepairCase], Record], chosen: Sequence[RepairCase], out: Console, aside: Console
) -> tuple[list[Record], list[str]]:
    """Return the results by name, and what failed. An interrupt ends it early."""
    records: list[Record] = []
    failures: list[str] = []
    try:
        for case, result in work(job, chosen, "repairing", aside):
            if isinstance(result, Failure):
                failures.append(f"{case.name}: {result.why}")
            else:
                records.append(result)
    except KeyboardInterrupt:
        out.print(f"Interrupted. These results cover {len(records)} of {len(chosen)} runs.")
    return sorted(records, key=lambda each: str(each["name"])), failures


def main(args: Sequence[str] | None = None) -> int:
    given = arguments(args)
    out, aside = output_console(), Console(stderr=True)
    strategies: tuple[StrategyName, ...] = ("race", "autotrainer")
    if given.strategy != "both":
        strategies = (given.strategy,)
    job = count_odds.try_each_remedy if given.odds else partial(run_case, strategies=strategies)
    records, failures = run_all(job, select(given), out, aside)
    shown: list[Record] = []
    command = "python -m benchmarks.repair " + " ".join(
        portable_arguments(sys.argv[1:] if args is None else args)
    )
    about = {"command": command, "python": platform.python_version(), "torch": torch.__version__}
    sheets: list[Sheet] = []
    if given.odds == "count":
        before = json.loads(SHIPPED.read_text()) if given.only and SHIPPED.is_file() else None
        table = count_odds.table(records, about, before)
        SHIPPED.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n")
        out.print(f"Wrote {SHIPPED}: {sum(map(len, table['counts'].values()))} pairs.")
    elif given.odds:
        sheets = count_odds.sheets(records)
    else:
        sheets = tables.sheets(records, strategies)
        shown = (
            []
            if given.only
            else [
                autotrainer_demos.run(name, strategy)
                for strategy in strategies
                for name in autotrainer_demos.DEMOS
            ]
        )
        sheets += [autotrainer_demos.sheet(shown)] if shown else []
    for sheet in sheets:
        sheet.show(out)
    if given.markdown:
        given.markdown.write_text(tables.page(sheets, about))
    for line in failures:
        out.print(f"failed: {line}", markup=False, soft_wrap=True)
    if given.json:
        report = {"about": about, "runs": records, "demos": shown, "failures": failures}
        given.json.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
