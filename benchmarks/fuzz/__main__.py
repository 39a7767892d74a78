"""Test sickbay with invalid input: damaged files, wrong command lines and wrong arguments.

Each input must end with a result or with one clear `SickbayError`. Any other exception, a hang, or
memory without limit is a failure. Input N of a seed is always the same. `--input N` runs it alone
and prints its traceback.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic

from rich.console import Console

from benchmarks.command_line import (
    check_file,
    new_parser,
    output_console,
    progress_bar,
)
from benchmarks.fuzz import tables, worker_processes
from benchmarks.fuzz.run_inputs import PARTS, Runner, prepare
from benchmarks.fuzz.time_and_memory_limits import cap_memory
from benchmarks.fuzz.verdict import Verdict
from benchmarks.report_page import machine
from benchmarks.worker_pool import WORKERS


def arguments(args: Sequence[str] | None) -> argparse.Namespace:
    parser = new_parser("fuzz", __doc__)
    parser.add_argument(
        "--inputs", metavar="N", type=int, default=100_000, help="number of inputs (100,000)"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="seed of all inputs (0)")
    parser.add_argument("--only", choices=tuple(PARTS), help="only inputs of this kind")
    parser.add_argument(
        "--input", metavar="N", type=int, help="run only input N and show it in full"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all results to FILE")
    parser.add_argument(
        "--docs", metavar="FILE", type=Path, help="write the tables as a page to FILE"
    )
    parser.add_argument(
        "--workers", metavar="N", type=int, default=WORKERS, help=f"processes ({WORKERS})"
    )
    given = parser.parse_args(args)
    for name in ("json", "docs"):
        check_file(parser, name, getattr(given, name))
    for name in ("inputs", "workers"):
        if getattr(given, name) < 1:
            parser.error(f"--{name} must be at least 1, got {getattr(given, name)}.")
    return given


def run_one(given: argparse.Namespace) -> int:
    """Run a single input in this process and print its result."""
    home = Path(mkdtemp(prefix="sickbay-fuzz-"))
    try:
        prepare(home)
        runner = Runner(given.seed, given.only, home)
        cap_memory()
        verdict = runner.run(given.input, show=True)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    print(f"input {verdict.number}: {verdict.what}")
    print(f"{verdict.happened} {verdict.error} {verdict.place}\n{verdict.said}")
    return int(verdict.happened == "failure")


def run_many(given: argparse.Namespace) -> list[Verdict]:
    done: list[Verdict] = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up as after Ctrl-C
    with progress_bar(Console(stderr=True)) as bar:
        task = bar.add_task("inputs", total=given.inputs)
        try:
            for verdict in worker_processes.run(
                given.seed, given.inputs, given.only, given.workers
            ):
                done.append(verdict)
                bar.advance(task)
        except KeyboardInterrupt:
            bar.console.print(
                f"Interrupted. These results cover {len(done)} of {given.inputs} inputs."
            )
    return done


def main(args: Sequence[str] | None = None) -> int:
    given = arguments(args)
    if given.input is not None:
        return run_one(given)
    start = monotonic()
    done = run_many(given)
    about = {
        "command": command(given),
        "inputs": len(done),
        "seed": given.seed,
        "failures": sum(each.happened == "failure" for each in done),
        "seconds": round(monotonic() - start),
        "made": machine(),
    }
    sheets = tables.sheets(done)
    out = output_console()
    for sheet in sheets:
        sheet.show(out)
    out.print(f"{about['inputs']:,} inputs of seed {given.seed}, {about['failures']:,} failures.")
    if given.json is not None:
        report = {"about": about, "counts": tables.counts(done), "failures": tables.failures(done)}
        given.json.write_text(json.dumps(report, indent=1) + "\n")
    if given.docs is not None:
        given.docs.write_text(tables.page(sheets, about))
    return int(about["failures"] > 0)


def command(given: argparse.Namespace) -> str:
    """Return the command without the paths of this machine."""
    only = f" --only {given.only}" if given.only else ""
    return f"python -m benchmarks.fuzz --inputs {given.inputs} --seed {given.seed}{only}"


if __name__ == "__main__":
    sys.exit(main())
