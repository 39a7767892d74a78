"""Measure the delay of findings and the cost of readings for several intervals."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from math import nan
from pathlib import Path
from statistics import median
from time import process_time

from rich.console import Console
from torch import nn
from torch.optim import Optimizer

from benchmarks import worker_pool
from benchmarks.detection.case import Case, Watch
from benchmarks.detection.figures import Row, average, share
from benchmarks.detection.judge_runs import Run
from benchmarks.detection.record_runs import cases_by_name, train_with_doctor
from benchmarks.report_page import Sheet, number, percent
from sickbay.doctor import Doctor, watch
from sickbay.errors import UsageError

PROBLEMS = ("vanishing_gradient", "exploding_gradient", "dying_relu")
EACH = 3  # cases per problem


def every(
    given: argparse.Namespace, cases: Sequence[Case], out: Console, aside: Console
) -> tuple[list[Row], Sheet]:
    """Train some sick cases with each interval, and print the delay and cost."""
    spacings = numbers(given.every)
    chosen = [
        case.name
        for problem in PROBLEMS
        for case in [case for case in cases if case.problem == problem][:EACH]
    ]
    if not chosen:
        raise UsageError(f"--every needs runs of {', '.join(PROBLEMS)}, got none of them.")
    rows: list[Row] = []
    job = partial(measure, given.data, spacings)
    # One worker, since two would slow each other down by varying amounts.
    for name, result in worker_pool.work(job, chosen, "training", aside, workers=1):
        if isinstance(result, worker_pool.Failure):
            out.print(f"failed: {name}: {result.why}", markup=False)
        else:
            rows += result
    table = sheet(rows, spacings)
    table.show(out)
    return rows, table


def numbers(text: str) -> list[int]:
    """Return the numbers in a list like `1,2,5`."""
    try:
        spacings = [int(each) for each in text.split(",")]
    except ValueError:
        spacings = []
    if not spacings or min(spacings) < 1:
        raise UsageError(
            f"--every must be numbers of steps of at least 1, such as 1,2,5, got {text!r}."
        )
    return spacings


def measure(data: Path | None, spacings: Sequence[int], name: str) -> list[Row]:
    """Train a case with each interval, and unwatched in between."""
    case = cases_by_name(data)[name]
    unwatched(case)  # the first run of a process also loads modules
    rows, before = [], unwatched(case)
    for spacing in spacings:
        start = process_time()
        watched, _ = train_with_doctor(case, partial(doctor, spacing))
        spent = process_time() - start
        after = unwatched(case)
        run = Run.of(case, said={"default": watched.said})
        answer = run.answer()
        rows.append(
            {
                "name": name,
                "problem": case.problem,
                "every": spacing,
                "delay": nan if answer is None else answer - case.first,
                "cpu_ratio": 2 * spent / (before + after),
            }
        )
        before = after
    return rows


def unwatched(case: Case) -> float:
    start = process_time()
    case.train(Watch())
    return process_time() - start


def doctor(spacing: int, model: nn.Module, optimizer: Optimizer, epochs: int) -> Doctor:
    return watch(model, optimizer, every=spacing, epochs=epochs, on_finding="silent")


def sheet(rows: Sequence[Row], spacings: Sequence[int]) -> Sheet:
    lines = []
    for spacing in spacings:
        mine = [row for row in rows if row["every"] == spacing]
        delays = [row["delay"] for row in mine if row["delay"] == row["delay"]]
        by_problem = [
            average(
                row["delay"]
                for row in mine
                if row["problem"] == problem and row["delay"] == row["delay"]
            )
            for problem in PROBLEMS
        ]
        cost = median(row["cpu_ratio"] for row in mine) if mine else nan
        cells = [percent(share(len(delays), len(mine))), number(average(delays))]
        lines.append([str(spacing), *cells, *map(number, by_problem), number(cost)])
    columns = ("every", "found", "delay", *PROBLEMS, "CPU ratio to the plain loop")
    note = "Delay: mean steps to the right finding, over runs that have one."
    return Sheet("Delay and cost by interval", note, columns, lines)
