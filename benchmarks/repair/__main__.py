"""How well what is found is repaired: the zoo's sick runs, repaired by both strategies.

Each run of AutoTrainer's eight problems is trained as it is, as its healthy twin, and by
`sickbay.repair`. It counts as repaired if nothing is found any more and the score is within 2
points of the twin's. Healthy runs must come back unchanged. `--odds` tries every remedy by itself:
`count` on the half with even seeds, for the odds that the package ships, `judge` on the other.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Iterator, Sequence
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
from sickbay.repairs.fit import STRATEGIES, Strategy

SHIPPED = Path("src/sickbay/remedies/odds.json")


def arguments(args: Sequence[str] | None) -> argparse.Namespace:
    parser = new_parser("repair", __doc__)
    parser.add_argument("--data", metavar="DIR", type=Path, help="folder with the real data")
    parser.add_argument("--quick", action="store_true", help="a few runs of each problem")
    parser.add_argument("--only", metavar="TEXT", default="", help="runs whose name has this in it")
    parser.add_argument("--half", choices=("calibration", "reporting", "both"), default="reporting")
    parser.add_argument("--strategy", choices=(*STRATEGIES, "both"), default="both")
    parser.add_argument("--no-healthy", action="store_true", help="leave the healthy runs out")
    parser.add_argument("--json", metavar="FILE", type=Path, help="everything, run by run")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="the tables as a page")
    parser.add_argument("--odds", choices=("count", "judge"), help=f"count: write {SHIPPED}")
    given = parser.parse_args(args)
    if given.data is not None and not given.data.is_dir():
        parser.error(f"--data must be a folder, got '{given.data}'.")
    return given


def select(given: argparse.Namespace) -> list[RepairCase]:
    """Return the repair_cases that were asked for."""
    problems = AUTOTRAINER_EIGHT if given.no_healthy or given.odds else (*AUTOTRAINER_EIGHT, "")
    half = {"count": "calibration", "judge": "reporting"}.get(given.odds, given.half)
    wanted = {"calibration": (0,), "reporting": (1,), "both": (0, 1)}[half]
    return [
        each
        for each in repair_cases(given.data, problems)
        if each.seed % 2 in wanted
        and given.only in each.name
        and (each.quick or not given.quick)
        and not (given.odds and each.seed % 4 > 1)  # every second of that half is enough
    ]


def told(args: Sequence[str]) -> Iterator[str]:
    """Yield the arguments that matter to others: not where things lie on this machine."""
    given = iter(args)
    for each in given:
        if each in ("--json", "--markdown"):
            next(given, None)
        else:
            yield each
            if each == "--data":
                next(given, None)
                yield "DIR"


def main(args: Sequence[str] | None = None) -> int:
    given = arguments(args)
    out, aside = output_console(), Console(stderr=True)
    chosen = select(given)
    strategies: tuple[Strategy, ...] = ("race", "autotrainer")
    if given.strategy != "both":
        strategies = (given.strategy,)
    job = count_odds.try_each_remedy if given.odds else partial(run_case, strategies=strategies)
    records: list[Record] = []
    shown: list[Record] = []
    failures: list[str] = []
    try:
        for case, result in work(job, chosen, "repairing", aside):
            if isinstance(result, Failure):
                failures.append(f"{case.name}: {result.why}")
            else:
                records.append(result)
    except KeyboardInterrupt:
        out.print(f"Interrupted; this is about the {len(records)} of {len(chosen)} runs done.")
    records.sort(key=lambda each: each["name"])
    command = "python -m benchmarks.repair " + " ".join(
        told(sys.argv[1:] if args is None else args)
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
            else [autotrainer_demos.run(name, "race") for name in autotrainer_demos.DEMOS]
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
