"""Running all simulated searches: every task, searcher, rule and seed, in several processes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from rich.console import Console

from benchmarks.tuning.diagnosis_rule import Diagnosis, Histories, remembered
from benchmarks.tuning.pool import load
from benchmarks.tuning.pool_part import Part, Which
from benchmarks.tuning.score_rules import Extrapolation, Foreseen, MedianStopping, Plain, continued
from benchmarks.tuning.searchers import SEARCHERS
from benchmarks.tuning.simulated_search import Rule, SimulatedTrial, simulate
from benchmarks.worker_pool import Failure, work
from sickbay.problems import Problem
from sickbay.problems.profiles import PROFILES

OTHER = 1000  # added to the seeds of the plain searches that all others are compared with
AT_ONCE = 20  # curves extrapolated in one call
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Plan:
    """What is simulated: on which part of which pools, for how long, how often."""

    pools: Path
    part: Which
    tasks: tuple[str, ...]
    searchers: tuple[str, ...]
    rules: tuple[str, ...]
    seeds: int
    trials: float | None  # the budget, in whole trials
    draws: Path  # folder of the extrapolated curves


class Job(NamedTuple):
    """One search to run."""

    plan: Plan
    task: str
    searcher: str
    rule: str
    seed: int


class Search(NamedTuple):
    """One finished search."""

    task: str
    searcher: str
    rule: str
    seed: int
    played: list[SimulatedTrial]


def available() -> tuple[str, ...]:
    """Return the searchers that are installed."""
    return tuple(name for name in SEARCHERS if name != "SMAC" or find_spec("smac"))


def searches(plan: Plan, console: Console, workers: int = 2) -> Iterator[Search]:
    """Run all searches and yield them as they finish. A single worker is this process."""
    if "extrapolation" in plan.rules:
        foresee(plan, console, workers)
    for _, search in worked(one, jobs(plan), "searching", console, workers):
        yield search


def worked(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    what: str,
    console: Console,
    workers: int,
) -> Iterator[tuple[Item, Result]]:
    """Yield each item with its result. Stop at a failure: the rest alone would mislead."""
    if workers == 1:
        yield from ((item, function(item)) for item in items)
        return
    for item, result in work(function, items, what, console, workers):
        if isinstance(result, Failure):
            raise SystemExit(f"{what} failed: {result.why}")
        yield item, result


def jobs(plan: Plan) -> list[Job]:
    """Return the searches, the slowest first."""
    wanted = [(rule, seed) for rule in plan.rules for seed in range(plan.seeds)]
    wanted += [("plain", OTHER + seed) for seed in range(plan.seeds)]
    orders = product(reversed(plan.searchers), plan.tasks, wanted)
    return [Job(plan, task, searcher, rule, seed) for searcher, task, (rule, seed) in orders]


def one(job: Job) -> Search:
    """Run one search."""
    plan, task = job.plan, job.task
    part = part_of(plan, task)
    searcher = SEARCHERS[job.searcher](part, job.seed)
    played = simulate(part, searcher, rule_of(plan, task, job.rule), part.budget(plan.trials))
    return Search(task, job.searcher, job.rule, job.seed, played)


def rule_of(plan: Plan, task: str, name: str) -> Rule:
    part = part_of(plan, task)
    if name == "extrapolation":
        return Extrapolation(part, draws_of(plan, task))
    if name in PROFILES:
        return Diagnosis(part, problems_of(plan, task, name), histories_of(plan, task))
    return MedianStopping(part) if name == "median" else Plain()


@cache
def part_of(plan: Plan, task: str) -> Part:
    return Part.of(load(plan.pools / f"{task}.zip"), plan.part)


@cache
def histories_of(plan: Plan, task: str) -> Histories:
    return Histories(part_of(plan, task))


@cache
def problems_of(_plan: Plan, _task: str, profile: str) -> tuple[Problem, ...]:
    return tuple(remembered(each) for each in PROFILES[profile])


@cache
def draws_of(plan: Plan, task: str) -> Foreseen:
    with np.load(plan.draws / f"{task}.npz") as file:
        return {tuple(json.loads(name)): file[name] for name in file.files}


def foresee(plan: Plan, console: Console, workers: int) -> None:
    """Extrapolate every curve once, and store the predictions in the plan's folder."""
    orders = []
    for task in plan.tasks:
        trials = range(len(part_of(plan, task).trials))
        orders += [(plan, task, trials[at : at + AT_ONCE]) for at in trials[::AT_ONCE]]
    told: dict[str, dict[str, Any]] = {task: {} for task in plan.tasks}
    for (_, task, _), some in worked(some_continued, orders, "continuing", console, workers):
        told[task] |= {json.dumps(key): draws for key, draws in some.items()}
    for task, draws in told.items():
        np.savez(plan.draws / f"{task}.npz", **draws)


def some_continued(order: tuple[Plan, str, Sequence[int]]) -> Foreseen:
    plan, task, trials = order
    return continued(part_of(plan, task), trials)
