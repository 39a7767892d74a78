"""The command `run`: simulated searches, and the report on them."""

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

from benchmarks.report_page import machine, plain
from benchmarks.tuning import best_so_far_plot, tables
from benchmarks.tuning.command_options import RULES
from benchmarks.tuning.figures import figures
from benchmarks.tuning.pool_part import Part
from benchmarks.tuning.run_searches import Plan, Search, available, part_of, searches
from benchmarks.tuning.searchers import SEARCHERS
from benchmarks.tuning.tasks import RECORDED, TASKS


def run(options: argparse.Namespace) -> None:
    """Simulate the searches, then print and write the results."""
    with TemporaryDirectory(prefix="tuning") as folder:
        plan = planned(options, Path(folder))
        done = list(searches(plan, Console(stderr=True), options.workers))
    done.sort(key=lambda each: (each.task, each.searcher, RULES.index(each.rule), each.seed))
    parts = {task: part_of(plan, task) for task in plan.tasks}
    budgets = {task: part.budget(plan.trials) for task, part in parts.items()}
    told = figures(done, parts, budgets)
    made = tables.sheets(told, done, parts)
    out = Console(width=None if sys.stdout.isatty() else 180)
    for sheet in made:
        sheet.show(out)
    picture = options.plot or (options.docs and options.docs.with_suffix(".png"))
    about = about_it(plan, parts, picture)
    if about["missing"]:
        out.print(about["missing"], markup=False)
    if picture:
        best_so_far_plot.draw(done, parts, budgets, picture)
    if options.docs:
        options.docs.write_text(tables.page(made, about))
    if options.json:
        whole = {"about": about, "figures": tables.as_rows(told), "searches": told_of(done)}
        options.json.write_text(json.dumps(plain(whole)) + "\n")


def planned(options: argparse.Namespace, folder: Path) -> Plan:
    there = [task for task in TASKS if (options.pools / f"{task}.zip").is_file()]
    missing = [task for task in options.tasks or () if task not in there]
    if missing or not there:
        names = ", ".join(missing or RECORDED)
        raise SystemExit(f"{options.pools} has no pool of {names}: record it first.")
    return Plan(
        pools=options.pools,
        part=options.part,
        tasks=tuple(options.tasks or there),
        searchers=tuple(options.searchers or available()),
        rules=tuple(rule for rule in RULES if rule in options.rules),
        seeds=options.seeds,
        trials=options.trials,
        draws=folder,
    )


def about_it(plan: Plan, parts: Mapping[str, Part], picture: Path | None) -> dict[str, Any]:
    """Return what the figures were computed with."""
    counts = ", ".join(f"{task} {len(part.trials)}" for task, part in parts.items())
    absent = [name for name in SEARCHERS if name not in available()]
    missing = "SMAC is missing: `pip install smac`." if absent else ""
    about = {"part": plan.part, "counts": counts, "seeds": plan.seeds}
    trials = (
        f"{plan.trials:g} trials" if plan.trials else "an eighth of the part's trials (ten or more)"
    )
    about |= {"trials": trials, "missing": missing, "optuna": optuna.__version__}
    command = f"python -m benchmarks.tuning run --part {plan.part}"
    return about | machine() | {"command": command, "plot": picture.name if picture else ""}


def told_of(done: Sequence[Search]) -> list[dict[str, Any]]:
    return [each._asdict() for each in done]
