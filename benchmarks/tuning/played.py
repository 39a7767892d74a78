"""The command that plays searches and reports on them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import optuna
from rich.console import Console

from benchmarks.detection.report import machine, plain
from benchmarks.tuning import plot, tables
from benchmarks.tuning.figures import figures
from benchmarks.tuning.half import Half
from benchmarks.tuning.options import RULES
from benchmarks.tuning.run import Plan, Search, available, half_of, searches
from benchmarks.tuning.searchers import SEARCHERS
from benchmarks.tuning.tasks import TASKS
from sickbay.problems.profiles import PROFILES


def run(options: argparse.Namespace) -> None:
    """Play, print, and write what was asked for."""
    with TemporaryDirectory(prefix="tuning") as folder:
        plan = planned(options, Path(folder))
        done = list(searches(plan, Console(stderr=True), options.workers))
    done.sort(key=lambda each: (each.task, each.searcher, RULES.index(each.rule), each.seed))
    halves = {task: half_of(plan, task) for task in plan.tasks}
    budgets = {task: half.budget(plan.trials) for task, half in halves.items()}
    told = figures(done, halves, budgets)
    made = tables.sheets(told, done, halves)
    out = Console(width=None if sys.stdout.isatty() else 180)
    for sheet in made:
        sheet.show(out)
    picture = options.plot or (options.docs and options.docs.with_suffix(".png"))
    about = about_it(plan, halves, picture)
    if about["missing"]:
        out.print(about["missing"], markup=False)
    if picture:
        plot.draw(done, halves, budgets, picture)
    if options.docs:
        options.docs.write_text(tables.page(made, about))
    if options.json:
        whole = {"about": about, "figures": tables.as_rows(told), "searches": told_of(done)}
        options.json.write_text(json.dumps(plain(whole)) + "\n")


def planned(options: argparse.Namespace, folder: Path) -> Plan:
    there = [task for task in TASKS if (options.pools / f"{task}.zip").is_file()]
    missing = [task for task in options.tasks or () if task not in there]
    if missing or not there:
        names = ", ".join(missing or TASKS)
        raise SystemExit(f"{options.pools} has no pool of {names}: record it first.")
    return Plan(
        pools=options.pools,
        half=options.half,
        tasks=tuple(options.tasks or there),
        searchers=tuple(options.searchers or available()),
        rules=tuple(rule for rule in RULES if rule in options.rules and known(rule)),
        seeds=options.seeds,
        trials=options.trials,
        draws=folder,
    )


def known(rule: str) -> bool:
    return rule in PROFILES or rule in ("plain", "median", "extrapolation")


def about_it(plan: Plan, halves: Mapping[str, Half], picture: Path | None) -> dict[str, Any]:
    """Return what the figures were made with."""
    counts = ", ".join(f"{task} {len(half.trials)}" for task, half in halves.items())
    absent = [name for name in SEARCHERS if name not in available()]
    missing = "SMAC is missing: `pip install smac`." if absent else ""
    about = {"half": plan.half.capitalize(), "counts": counts, "seeds": plan.seeds}
    trials = (
        f"{plan.trials:g} trials" if plan.trials else "an eighth of the half's trials, ten at least"
    )
    about |= {"trials": trials, "missing": missing, "optuna": optuna.__version__}
    command = f"python -m benchmarks.tuning run --half {plan.half}"
    return about | machine() | {"command": command, "plot": picture.name if picture else ""}


def told_of(done: Sequence[Search]) -> list[dict[str, Any]]:
    return [each._asdict() for each in done]
