"""Redo the tables and figures of AutoTrainer (Zhang et al., journal version) with sickbay.

`run` trains about 200 small models in several ways and appends a line to FILE for each result.
Results that FILE already has are not computed again. `render` writes the page from such files.

Experiments: record (each model to its end, with all rules and many thresholds), repair (with both
strategies), alone (each solution alone), random (two models with 50 seeds each), cost and memory
(of checks), again (faulty models with other seeds).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from rich.console import Console

from benchmarks.command_line import check_file, matches, new_parser, output_console
from benchmarks.published.autotrainer.jobs import (
    EXPERIMENTS,
    Job,
    Runner,
    all_jobs,
    read_results,
)
from benchmarks.report_page import machine
from benchmarks.worker_pool import WORKERS, Failure, work

PAGE = Path("docs/published/autotrainer.md")


def arguments(args: Sequence[str] | None) -> argparse.Namespace:
    parser = new_parser("published.autotrainer", __doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="train the models")
    run.add_argument("--data", metavar="DIR", type=Path, help="folder with the real data sets")
    run.add_argument("--json", metavar="FILE", type=Path, required=True, help="JSON lines")
    run.add_argument("--workers", metavar="N", type=int, default=WORKERS, help="processes (2)")
    run.add_argument("--only", metavar="NAMES", help=f"of {', '.join(EXPERIMENTS)}")
    run.add_argument("--cases", metavar="TEXT", default="", help="only models with TEXT in a name")
    run.add_argument("--quick", action="store_true", help="one small model of each problem")
    run.add_argument("--seconds", type=float, default=60, help="limit of one job (60)")
    run.add_argument("--minutes", type=float, help="start no job after so many minutes")
    render = commands.add_parser("render", help="write the page")
    render.add_argument("files", metavar="FILE", type=Path, nargs="+", help="JSON lines of `run`")
    render.add_argument("--page", metavar="FILE", type=Path, default=PAGE, help=f"({PAGE})")
    given = parser.parse_args(args)
    if given.command == "run":
        check_run(run, given)
    for file in given.files if given.command == "render" else ():
        if not file.is_file():
            render.error(f"FILE must be a file that `run` wrote, got '{file}'.")
    return given


def check_run(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    check_file(parser, "json", given.json)
    if given.data is not None and not given.data.is_dir():
        parser.error(f"--data must be a folder, got '{given.data}'.")
    given.only = (given.only or ",".join(EXPERIMENTS)).split(",")
    if unknown := sorted({*given.only} - {*EXPERIMENTS}):
        parser.error(f"--only must be names of {', '.join(EXPERIMENTS)}, got '{unknown[0]}'.")
    if given.workers < 1:
        parser.error(f"--workers must be at least 1, got {given.workers}.")


def select(given: argparse.Namespace, done: Sequence[str]) -> list[Job]:
    """Return the jobs that the arguments select and that are not done."""
    return [
        job
        for job in all_jobs(given.quick, given.data is not None)
        if job.experiment in given.only
        and matches(job.case.name, given.cases)
        and job.key not in done
    ]


def command_of(given: argparse.Namespace) -> str:
    """Return the command without the paths of this machine."""
    parts = ["python -m benchmarks.published.autotrainer run", "--data DIR" if given.data else ""]
    parts += ["--quick" if given.quick else "", f"--workers {given.workers}"]
    parts += [f"--cases '{given.cases}'"] if given.cases else []
    parts += [f"--only {','.join(given.only)}"] if len(given.only) < len(EXPERIMENTS) else []
    parts += [f"--minutes {given.minutes:g}"] if given.minutes else []
    return " ".join([each for each in parts if each] + ["--json FILE"])


def run_jobs(given: argparse.Namespace, out: Console) -> int:
    """Run all jobs and append their results to the file. Return how many failed."""
    known = read_results([given.json])[1] if given.json.exists() else {}
    done = [key for key, result in known.items() if "too_long" not in result]
    jobs, start, failed = select(given, done), perf_counter(), 0
    out.print(f"{len(jobs)} jobs; {len(done)} results are there already.")
    about = {**machine(), "command": command_of(given), "cores": os.cpu_count()}
    runner = Runner(given.data, given.seconds)
    with given.json.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"about": about}) + "\n")
        waiting = len(jobs)
        for job, result in work(runner, jobs, "training", Console(stderr=True), given.workers):
            waiting -= 1
            if isinstance(result, Failure):
                failed += 1
                out.print(f"failed: {job.key}: {result.why}", markup=False, soft_wrap=True)
            else:
                file.write(json.dumps(result) + "\n")
                file.flush()
            if given.minutes and perf_counter() - start > 60 * given.minutes:
                out.print(f"Time is up. {waiting} jobs are left; run the command again for them.")
                break
    out.print(f"{perf_counter() - start:.0f} s, {failed} failed.")
    return failed


def main(args: Sequence[str] | None = None) -> int:
    given, out = arguments(args), output_console()
    if given.command == "run":
        return 1 if run_jobs(given, out) else 0
    from benchmarks.published.autotrainer.page import write_page

    about, results = read_results(given.files)
    write_page(given.page, about, list(results.values()))
    out.print(f"Wrote {given.page}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
