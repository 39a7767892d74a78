"""The jobs of the benchmark: one model, trained in one way. Finished ones are kept in a file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.fuzz.time_and_memory_limits import seconds
from benchmarks.fuzz.verdict import TooLong
from benchmarks.published.autotrainer.cases import Case, all_cases, quick_cases
from benchmarks.published.autotrainer.cost import INTERVALS, WAYS, measure_memory, time_checks
from benchmarks.published.autotrainer.data_sets import MADE
from benchmarks.published.autotrainer.randomness import MODELS
from benchmarks.published.autotrainer.record import record
from benchmarks.published.autotrainer.repair_case import STRATEGIES, repair_case, try_solution
from benchmarks.published.autotrainer.solutions import ORDER
from benchmarks.report_page import plain

EXPERIMENTS = ("record", "repair", "alone", "random", "cost", "memory", "again")
RUNS, QUICK_RUNS = 50, 1  # of each random model
AGAIN = 4  # further seeds of every faulty model
Result = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One training or repair. `detail` is a strategy, a solution, a seed or an interval."""

    experiment: str
    case: Case
    detail: str = ""

    @property
    def key(self) -> str:
        return f"{self.experiment}:{self.case.name}:{self.detail}"


@dataclass(frozen=True)
class Runner:
    """Runs jobs, each within a time limit. It is sent to the worker processes."""

    folder: Path | None
    limit: float

    def __call__(self, job: Job) -> Result:
        about = {"experiment": job.experiment, "case": job.case.name, "detail": job.detail}
        about |= {"problem": job.case.problem, "data": job.case.data}
        try:
            with seconds(self.limit):
                return {**about, **plain(run(job, self.folder))}
        except TooLong:
            return {**about, "too_long": self.limit}


def run(job: Job, folder: Path | None) -> Result:
    """Run one job."""
    if job.experiment == "repair":
        return repair_case(job.case, folder, job.detail)
    if job.experiment == "alone":
        return try_solution(job.case, folder, job.detail)
    if job.experiment == "cost":
        return time_checks(job.case, folder, int(job.detail))
    if job.experiment == "memory":
        return measure_memory(job.case, folder, job.detail)
    if job.experiment in ("random", "again"):
        return record(job.case, folder, int(job.detail), sweep=False)
    return record(job.case, folder, job.case.seed)


def all_jobs(quick: bool, has_data: bool) -> list[Job]:
    """Return the jobs in order of importance. Real data sets need a folder."""
    cases = quick_cases() if quick else all_cases()
    cases = [each for each in cases if has_data or each.data in MADE]
    faulty = [each for each in cases if each.problem]
    return [
        *(Job("record", case) for case in cases),
        *(Job("repair", case, strategy) for case in cases for strategy in STRATEGIES),
        *(Job("alone", case, each) for case in faulty for each in ORDER[case.problem]),
        *random_jobs(QUICK_RUNS if quick else RUNS, has_data),
        *cost_jobs(cases),
        *(
            Job("again", case, str(200 + n))
            for n in range(1 if quick else AGAIN)
            for case in faulty
        ),
    ]


def random_jobs(runs: int, has_data: bool) -> Iterator[Job]:
    for case in MODELS.values() if has_data else ():
        yield from (Job("random", case, str(seed)) for seed in range(runs))
        yield from (Job("repair", case, strategy) for strategy in STRATEGIES)


def cost_jobs(cases: Sequence[Case]) -> Iterator[Job]:
    """Yield the jobs about time and memory: for the first sound and the first slow models."""
    sound: dict[str, Case] = {}
    slow: dict[str, Case] = {}
    for case in cases:
        if not case.problem:
            sound.setdefault(case.data, case)
        if case.problem == "slow_convergence":
            slow.setdefault(case.data, case)
    yield from (Job("cost", case, str(every)) for case in sound.values() for every in INTERVALS)
    both = (*sound.values(), *slow.values())
    yield from (Job("memory", case, way) for case in both for way in WAYS)


def read_results(files: Sequence[Path]) -> tuple[Mapping[str, Any], dict[str, Result]]:
    """Return what the newest file says about itself, and all results by key.

    A line that was cut off when a run was killed is left out.
    """
    about: dict[str, Any] = {}
    results: dict[str, Result] = {}
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if "about" in entry:
                about = entry["about"]
            else:
                results[f"{entry['experiment']}:{entry['case']}:{entry['detail']}"] = entry
    return about, results
