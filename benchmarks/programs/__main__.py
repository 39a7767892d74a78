"""Run complete training programs with real faults, sick, fixed and repaired.

Each program runs in a process of its own. With --json, results go to FILE line by line, and the
programs that FILE already holds are not run again. --check only trains both forms of each program
with several seeds, and lists those whose fix is not clearly better.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from benchmarks.command_line import check_file, matches, new_parser, output_console, progress_bar
from benchmarks.programs import judge, tables
from benchmarks.programs.all_programs import every
from benchmarks.programs.judge import Record
from benchmarks.programs.processes import run_each
from benchmarks.programs.program import HALVES, Program
from benchmarks.programs.run_program import Task
from benchmarks.report_page import machine
from benchmarks.worker_pool import WORKERS, Failure

LIMIT = 300  # seconds for one program


def arguments(args: Sequence[str] | None) -> argparse.Namespace:
    parser = new_parser("programs", __doc__)
    parser.add_argument(
        "--half", choices=(*HALVES, "both"), default="reporting", help="programs to run (reporting)"
    )
    parser.add_argument("--only", metavar="PATTERN", default="", help="programs with such a name")
    parser.add_argument(
        "--workers", metavar="N", type=int, default=WORKERS, help=f"processes ({WORKERS})"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of all programs (0)")
    parser.add_argument(
        "--data", metavar="DIR", type=Path, help="folder with the real data sets that some need"
    )
    parser.add_argument("--no-repair", action="store_true", help="leave out sickbay.fit")
    parser.add_argument("--rivals", action="store_true", help="also run other installed tools")
    parser.add_argument("--check", action="store_true", help="compare each program with its fix")
    parser.add_argument(
        "--json", metavar="FILE", type=Path, help="write and reuse results, by line"
    )
    parser.add_argument(
        "--markdown", metavar="FILE", type=Path, help="write the tables as a page to FILE"
    )
    given = parser.parse_args(args)
    for name in ("json", "markdown"):
        check_file(parser, name, getattr(given, name))
    if given.workers < 1:
        parser.error(f"--workers must be at least 1, got {given.workers}.")
    if given.data is not None and not given.data.is_dir():
        parser.error(f"--data must be a folder, got '{given.data}'.")
    given.chosen = select(given)
    if not given.chosen:
        parser.error(f"--only must match a program of --half {given.half}, got '{given.only}'.")
    return given


def select(given: argparse.Namespace) -> list[Program]:
    """Return the programs that the arguments select."""
    return [
        each
        for each in every().values()
        if given.half in ("both", each.half)
        and matches(each.name, given.only)
        and (given.data is not None or not each.data)
    ]


def with_progress(
    names: Sequence[str], task: Task, workers: int
) -> Iterator[tuple[str, Record | Failure]]:
    """Yield each name with its result, and show how far it is."""
    with progress_bar(Console(stderr=True)) as bar:
        shown = bar.add_task("programs", total=len(names))
        for name, result in run_each(task, names, workers, LIMIT):
            bar.advance(shown)
            yield name, result


def held(file: Path | None) -> dict[str, Record]:
    """Return the records that a file holds, by the name of the program."""
    if file is None or not file.is_file():
        return {}
    records = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return {record["name"]: record for record in records}


def show_check(records: Sequence[Record], out: Console) -> int:
    """Print the programs whose fix is not clearly better. Return how many there are."""
    poor = [each for each in records if not judge.is_clear(each)]
    for each in poor:
        scores = {
            form: [round(score or 0, 3) for score in each[form]] for form in ("sick", "fixed")
        }
        out.print(f"{each['name']}: sick {scores['sick']}, fixed {scores['fixed']}")
    out.print(f"{len(records) - len(poor)} of {len(records)} fixes are clearly better.")
    return len(poor)


def command(given: argparse.Namespace) -> str:
    """Return the command without the paths of this machine."""
    parts = ["python -m benchmarks.programs", f"--half {given.half}"]
    parts += [f"--only '{given.only}'"] if given.only else []
    parts += ["--data DIR"] if given.data else []
    parts += ["--no-repair"] if given.no_repair else []
    return " ".join([*parts, *(["--rivals"] if given.rivals else [])])


def main(args: Sequence[str] | None = None) -> int:
    given = arguments(args)
    out = output_console()
    names = [each.name for each in given.chosen]
    records = held(given.json)
    missing = [name for name in names if name not in records]
    failures: list[str] = []
    task = Task(given.seed, given.data, not given.no_repair, given.rivals, given.check)
    try:
        for name, result in with_progress(missing, task, given.workers):
            if isinstance(result, Failure):
                failures.append(f"{name}: {result.why}")
                continue
            records[name] = result
            if given.json is not None:
                with given.json.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(result) + "\n")
    except KeyboardInterrupt:
        out.print(f"Interrupted. These results cover {len(records)} of {len(names)} programs.")
    ordered = [records[name] for name in names if name in records]
    for line in failures:
        out.print(f"[red]failed[/] {escape(line)}", soft_wrap=True)
    if given.check:
        return 1 if show_check(ordered, out) or failures else 0
    made = tables.sheets(ordered)
    for sheet in made:
        sheet.show(out)
    if given.markdown is not None:
        versions = ", ".join(f"{name} {each}" for name, each in machine().items())
        about = {"command": command(given), "made": versions}
        given.markdown.write_text(tables.page(made, about), encoding="utf-8")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
