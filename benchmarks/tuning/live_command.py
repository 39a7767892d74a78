"""The command `live`: real searches, and their tables."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite
from statistics import fmean
from typing import Any, TypeAlias

from rich.console import Console

from benchmarks.report_page import Sheet, machine, page_head, percent, plain
from benchmarks.tuning.live_search import EPOCHS, QUICK, LiveSearch, LiveTrial, foretold, search
from benchmarks.tuning.measures import time_saving_for_baseline_accuracy, top10_hit_ratio
from benchmarks.tuning.record_pool import Plan
from benchmarks.tuning.run_searches import worked
from benchmarks.tuning.tasks import TASKS

Results: TypeAlias = Mapping[tuple[str, bool], Sequence[LiveTrial]]  # by task, and whether tuned
COST = 0.01

QUESTION = "Whether real searches behave like played (simulated) ones, and what watching costs."
PAGE = """\
For each task, a plain search and one with `tuning` run at the same time, on one processor each,
for {minutes:g} minutes. Both use the same random configurations, in the same order and with the
same seeds. {how} A single search says little about how good a method is; [the played
searches](tuning.md) do. This page shows that played searches behave like real ones.
"""
LESS = "With `--quick`: {epochs} epochs. Training and validation samples: {samples}. {divided}."


def run(options: argparse.Namespace) -> None:
    """Run the searches, then print and write the results."""
    minutes = options.minutes or (3 if options.quick else 60)
    orders = [
        ordered(options, task, minutes, tuned) for task in options.tasks for tuned in (False, True)
    ]
    results = {
        (order.plan.task, order.tuned): lived
        for order, lived in worked(search, orders, "searching", Console(stderr=True), 2)
    }
    epochs = orders[0].plan.epochs
    made = [searched(results, epochs), agreement(results, epochs), reasons(results)]
    out = Console(width=None if sys.stdout.isatty() else 150)
    for sheet in made:
        sheet.show(out)
    command = "python -m benchmarks.tuning live --data DIR" + " --quick" * options.quick
    about = {"command": command, "minutes": minutes, "how": how(options.quick), **machine()}
    if options.docs:
        source = f"`{command}` (torch {about['torch']}) on a machine with two processors"
        head = page_head("Tuning results, live", QUESTION, source, summary(results, made[1]))
        page = [head, PAGE.format(**about), *(sheet.markdown() for sheet in made)]
        options.docs.write_text("\n".join(page))
    if options.json:
        trials = [
            {"task": task, "tuned": tuned, **each._replace(recorded=None)._asdict()}
            for (task, tuned), lived in results.items()
            for each in lived
        ]
        options.json.write_text(json.dumps(plain({"about": about, "trials": trials})) + "\n")


def ordered(options: argparse.Namespace, task: str, minutes: float, tuned: bool) -> LiveSearch:
    plan = Plan(task, options.data, epochs=EPOCHS if options.quick else 20)
    return LiveSearch(plan, options.quick, 60 * minutes, tuned)


def how(quick: bool) -> str:
    if not quick:
        return ""
    samples = ", ".join(f"{task} {each.samples} and {each.held}" for task, each in QUICK.items())
    divided = ", ".join(f"{n} by {by}" for each in QUICK.values() for n, by in each.divided.items())
    return LESS.format(epochs=EPOCHS, samples=samples, divided=f"Sizes are divided: {divided}")


def searched(results: Results, epochs: int) -> Sheet:
    """Return a table of the results."""
    rows = []
    for (task, tuned), lived in sorted(results.items()):
        maximize = TASKS[task].maximize
        values = bests(lived, maximize)
        base, course = results[task, False], curve(lived)
        ratio = top10_hit_ratio(values, bests(base, maximize), maximize)
        saved = time_saving_for_baseline_accuracy(course, curve(base), maximize)
        ten = sorted(values, reverse=maximize)[:10]
        cost = cost_of(lived)
        done = sum(len(each.values) == epochs for each in lived)
        row = [task, "tuning" if tuned else "plain", str(len(lived)), str(done), f"{ten[0]:.4f}"]
        row += [f"{fmean(ten):.4f}", percent(ratio), percent(saved)]
        row.append(f"{cost:.2%}" + f" ({'holds' if cost <= COST else 'FAILS'})" * tuned)
        rows.append(row)
    note = f"""
Watching must cost at most {COST:.0%} of the time of the trials with `tuning`. The plain trials are
recorded, so watching takes some of their time too.""".lstrip()
    columns = ("task", "search", "tried", "finished", "best", "mean of ten", "Top10HR", "TSBA")
    return Sheet("Live searches", note, (*columns, "cost of watching"), rows)


def summary(results: Results, compared: Sheet) -> list[str]:
    """Return what the page shows in a few lines."""
    costs = [cost_of(lived) for (_, tuned), lived in results.items() if tuned]
    trials, same = (sum(int(row[place]) for row in compared.rows) for place in (1, 4))
    return [
        f"{same} of {trials} trials ended live for the same reason as in the played search.",
        f"Watching with `tuning` cost {min(costs):.2%} to {max(costs):.2%}; "
        f"it must be at most {COST:.0%}.",
    ]


def cost_of(lived: Sequence[LiveTrial]) -> float:
    """Return the share of the time of some trials that watching took."""
    return sum(each.watching for each in lived) / sum(each.seconds for each in lived)


def bests(lived: Sequence[LiveTrial], maximize: bool) -> list[float]:
    """Return the best finite value of every trial that has one."""
    choose = max if maximize else min
    reached = ([value for value in each.values if isfinite(value)] for each in lived)
    return [choose(values) for values in reached if values]


def curve(lived: Sequence[LiveTrial]) -> list[tuple[float, float]]:
    return [pair for each in lived for pair in zip(each.ends, each.values, strict=True)]


def agreement(results: Results, epochs: int) -> Sheet:
    """Return a table that compares the trials of both searches, live and simulated."""
    rows = []
    for task in sorted({task for task, _ in results}):
        told = foretold(task, results[task, False], epochs)
        both = [each for each in results[task, True] if each.seed in told]
        lived, played = ([len(each.values) for each in both], [told[each.seed] for each in both])
        same = sum(each.why == told[each.seed].why for each in both)
        ended = sum(bool(each.why) for each in both), sum(bool(each.why) for each in played)
        rows.append([task, str(len(both)), str(ended[0]), str(ended[1]), str(same)])
        rows[-1] += [str(sum(lived)), str(sum(each.epochs for each in played))]
    note = "Trials that both searches had: how many ended, and how many epochs were trained."
    columns = ("task", "trials", "ended live", "as played", "for the same reason")
    return Sheet("Live and played", note, (*columns, "epochs live", "epochs as played"), rows)


def reasons(results: Results) -> Sheet:
    counts: Counter[tuple[str, str]] = Counter()
    for (task, _), lived in results.items():
        counts.update((task, each.why) for each in lived if each.why)
    rows: list[list[Any]] = [[*key, str(number)] for key, number in sorted(counts.items())]
    return Sheet("Why trials ended", "", ("task", "why", "ended"), rows)
