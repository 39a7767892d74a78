"""Measure how many planted faults a checkup finds, and how often a sound model fails a test.

Each model is examined with the default tests and with the test that is meant for its fault. The
limits of the tests were set on the calibration half. Figures come from the reporting half.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from benchmarks.checkup import tables
from benchmarks.checkup.all_cases import ALL
from benchmarks.checkup.calibration.sound.transformers_package import INSTALLED
from benchmarks.checkup.case import HALVES, Case
from benchmarks.checkup.examine_model import Record, examine, large
from benchmarks.command_line import (
    check_file,
    matches,
    new_parser,
    output_console,
)
from benchmarks.report_page import machine, plain
from benchmarks.worker_pool import WORKERS, Failure, work


def arguments(args: Sequence[str] | None) -> argparse.Namespace:
    parser = new_parser("checkup", __doc__)
    parser.add_argument(
        "--part",
        choices=(*HALVES, "both"),
        default="reporting",
        help="which half of the models to examine (reporting)",
    )
    parser.add_argument(
        "--only",
        metavar="NAME",
        help="only models whose name contains NAME; prints all their results",
    )
    parser.add_argument(
        "--json", metavar="FILE", type=Path, help="write all results, model by model, to FILE"
    )
    parser.add_argument(
        "--docs", metavar="FILE", type=Path, help="write the tables as a page to FILE"
    )
    parser.add_argument(
        "--workers", metavar="N", type=int, default=WORKERS, help=f"processes ({WORKERS})"
    )
    parser.add_argument("--no-large", action="store_true", help="leave out the char-GPT")
    given = parser.parse_args(args)
    for name in ("json", "docs"):
        check_file(parser, name, getattr(given, name))
    if given.workers < 1:
        parser.error(f"--workers must be at least 1, got {given.workers}.")
    given.chosen = select(given)
    if not given.chosen:
        tests = ", ".join(dict.fromkeys(each.partition("/")[0] for each in ALL))
        parser.error(f"--only must be part of a name in the {given.part} part, such as {tests}.")
    return given


def select(given: argparse.Namespace) -> list[Case]:
    """Return the models that the arguments select."""
    return [
        each
        for each in ALL.values()
        if given.part in ("both", each.half) and matches(each.name, given.only or "")
    ]


def in_full(records: Sequence[Record], console: Console) -> None:
    """Print all results of each model."""
    marks = {"passed": "✓", "failed": "✗", "skipped": "-"}
    for record in records:
        console.print(f"\n[bold]{escape(record['name'])}[/] ({record['half']})")
        for each in record["results"]:
            said = f"  {marks[each['outcome']]} {each['test']}: {each['message']}"
            console.print(escape(said), highlight=False, soft_wrap=True)


def main(args: Sequence[str] | None = None) -> int:
    given = arguments(args)
    out = output_console()
    records: dict[str, Record] = {}
    failures: list[str] = []
    names = [each.name for each in given.chosen]
    try:
        for name, result in work(examine, names, "checkup", Console(stderr=True), given.workers):
            if isinstance(result, Failure):
                failures.append(f"{name}: {result.why}")
            else:
                records[name] = result
    except KeyboardInterrupt:
        out.print(f"Interrupted. These results cover {len(records)} of {len(names)} models.")
    ordered = [records[name] for name in names if name in records]
    whole = given.only is None and len(records) + len(failures) == len(names)
    gpt = large() if whole and not given.no_large else None
    sheets = tables.sheets(ordered, gpt)
    if given.only is not None:
        in_full(ordered, out)
    for sheet in sheets:
        sheet.show(out)
    for line in failures:
        out.print(f"[red]failed[/] {escape(line)}", soft_wrap=True)
    about: dict[str, Any] = {
        "command": command(given),
        "part": part(given.part),
        "made": versions(),
    }
    about |= {"faults": len(tables.faults(ordered)), "sound": len(tables.sound(ordered))}
    if given.json is not None:
        report: dict[str, Any] = {"about": about, "models": ordered, "large": gpt}
        given.json.write_text(json.dumps(plain({**report, "failures": failures}), indent=1) + "\n")
    if given.docs is not None:
        given.docs.write_text(tables.page(sheets, about))
    return 1 if failures else 0


def command(given: argparse.Namespace) -> str:
    """Return the command without the paths of this machine."""
    chosen = "" if given.part == "reporting" else f" --part {given.part}"
    return "python -m benchmarks.checkup" + chosen


def part(name: str) -> str:
    return "both halves" if name == "both" else f"the {name} half"


def versions() -> str:
    """Return the versions used, including `transformers` if it is installed."""
    hub = {"transformers": version("transformers")} if INSTALLED else {}
    return ", ".join(f"{name} {number}" for name, number in (machine() | hub).items())


if __name__ == "__main__":
    sys.exit(main())
