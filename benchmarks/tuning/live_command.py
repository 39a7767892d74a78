"""The command `live`: real searches, and their tables."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from math import inf, isfinite, nan
from statistics import fmean
from typing import TypeAlias

from rich.console import Console

from benchmarks.report_page import Sheet, machine, page_head, percent, plain
from benchmarks.tuning.command_options import PROFILED
from benchmarks.tuning.live_search import EPOCHS, QUICK, LiveSearch, LiveTrial, foretold, search
from benchmarks.tuning.measures import time_saving_for_baseline_accuracy, top10_hit_ratio
from benchmarks.tuning.record_pool import Plan
from benchmarks.tuning.run_searches import worked
from benchmarks.tuning.tasks import TASKS

Results: TypeAlias = Mapping[tuple[str, str], Sequence[LiveTrial]]  # by task and rule
COSTS = {"tuning": 0.01, "bttackler": 0.05, "bttackler_paper": 0.05}  # at most; the paper has 5 %

QUESTION = "Whether real searches behave like played (simulated) ones, and what watching costs."
PAGE = """\
For each task, a plain search and one with each profile run on one processor each, two at a time,
{long}. All use the same random configurations, in the same order and with the same seeds. {how} A
single search says little about how good a method is; [the played searches](tuning.md) do. This
page shows that played searches behave like real ones.
"""
LESS = "With `--quick`: {epochs} epochs. Training and validation samples: {samples}. {divided}."


def run(options: argparse.Namespace) -> None:
    """Run the searches, then print and write the results."""
    rules = ("plain", *(rule for rule in PROFILED if rule in options.rules))
    orders = [ordered(options, task, rule) for task in options.tasks for rule in rules]
    results = {
        (order.plan.task, order.rule): lived
        for order, lived in worked(search, orders, "searching", Console(stderr=True), 2)
    }
    results = {key: results[key] for key in product(options.tasks, rules)}
    epochs, timed = orders[0].plan.epochs, options.trials is None
    made = [searched(results, epochs, timed), agreement(results, epochs), reasons(results, epochs)]
    out = Console(width=None if sys.stdout.isatty() else 150)
    for sheet in made:
        sheet.show(out)
    command = "python -m benchmarks.tuning live --data DIR" + " --quick" * options.quick
    command += "" if timed else f" --trials {options.trials}"
    command += "" if rules[1:] == PROFILED else f" --rules {' '.join(rules[1:])}"
    about = {"command": command, "long": how_long(options), "how": how(options), **machine()}
    if options.docs:
        source = f"`{command}` (torch {about['torch']}) on a machine with two processors"
        head = page_head("Tuning results, live", QUESTION, source, summary(results, made[1]))
        page = [head, PAGE.format(**about), *(sheet.markdown() for sheet in made)]
        options.docs.write_text("\n".join(page))
    if options.json:
        trials = [
            {"task": task, "rule": rule, **each._replace(recorded=None)._asdict()}
            for (task, rule), lived in results.items()
            for each in lived
        ]
        tables = {sheet.title: [sheet.columns, *sheet.rows] for sheet in made}
        whole = {"about": about, "tables": tables, "trials": trials}
        options.json.write_text(json.dumps(plain(whole)) + "\n")


def ordered(options: argparse.Namespace, task: str, rule: str) -> LiveSearch:
    plan = Plan(task, options.data, epochs=EPOCHS if options.quick else 20)
    seconds = inf if options.trials else 60 * minutes_of(options)
    return LiveSearch(plan, options.quick, seconds, rule, options.trials)


def minutes_of(options: argparse.Namespace) -> float:
    return float(options.minutes or (3 if options.quick else 60))


def how_long(options: argparse.Namespace) -> str:
    if options.trials is not None:
        return f"for {options.trials} trials"
    return f"for {minutes_of(options):g} minutes"


def how(options: argparse.Namespace) -> str:
    if not options.quick:
        return ""
    used = {task: QUICK[task] for task in options.tasks}
    samples = ", ".join(f"{task} {each.samples} and {each.held}" for task, each in used.items())
    divided = ", ".join(f"{n} by {by}" for each in used.values() for n, by in each.divided.items())
    return LESS.format(epochs=EPOCHS, samples=samples, divided=f"Sizes are divided: {divided}")


def searched(results: Results, epochs: int, timed: bool = True) -> Sheet:
    """Return a table of the results. Searches that are not timed are not compared by their best."""
    rows = []
    for (task, rule), lived in results.items():
        maximize = TASKS[task].maximize
        values = bests(lived, maximize)
        base, course = results[task, "plain"], curve(lived)
        ratio = top10_hit_ratio(values, bests(base, maximize), maximize) if timed else nan
        saved = time_saving_for_baseline_accuracy(course, curve(base), maximize) if timed else nan
        ten = sorted(values, reverse=maximize)[:10]
        done = sum(len(each.values) == epochs for each in lived)
        row = [task, rule, str(len(lived)), str(done), f"{ten[0]:.4f}", f"{fmean(ten):.4f}"]
        row += [percent(ratio), percent(saved), f"{sum(each.seconds for each in lived):.0f}"]
        rows.append([*row, told_cost(rule, cost_of(lived))])
    limits = ", ".join(f"`{rule}` {limit:.0%}" for rule, limit in COSTS.items())
    note = f"""
Watching must cost at most this share of the time of the trials: {limits} (the limit of the paper).
The plain trials are recorded, so watching takes some of their time too.""".lstrip()
    columns = ("task", "search", "tried", "finished", "best", "mean of ten", "Top10HR", "TSBA")
    return Sheet("Live searches", note, (*columns, "seconds", "cost of watching"), rows)


def told_cost(rule: str, cost: float) -> str:
    verdict = "" if rule not in COSTS else f" ({'holds' if cost <= COSTS[rule] else 'FAILS'})"
    return f"{cost:.2%}{verdict}"


def summary(results: Results, compared: Sheet) -> list[str]:
    """Return what the page shows in a few lines."""
    trials, same = (sum(int(row[place]) for row in compared.rows) for place in (2, 5))
    lines = [f"{same} of {trials} trials ended live for the same reason as in the played search."]
    for rule in dict.fromkeys(rule for _, rule in results if rule in COSTS):
        costs = [cost_of(lived) for (_, name), lived in results.items() if name == rule]
        lines.append(
            f"Watching with `{rule}` cost {min(costs):.2%} to {max(costs):.2%}; "
            f"it must be at most {COSTS[rule]:.0%}."
        )
    return lines


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
    for (task, rule), lived in results.items():
        if rule == "plain":
            continue
        told = foretold(task, results[task, "plain"], epochs, rule)
        both = [each for each in lived if each.seed in told]
        played = [told[each.seed] for each in both]
        same = sum(each.why == told[each.seed].why for each in both)
        ended = sum(bool(each.why) for each in both), sum(bool(each.why) for each in played)
        rows.append([task, rule, str(len(both)), str(ended[0]), str(ended[1]), str(same)])
        trained = sum(len(each.values) for each in both), sum(each.epochs for each in played)
        rows[-1] += map(str, trained)
    note = "Trials that both searches had: how many ended, and how many epochs were trained."
    columns = ("task", "rule", "trials", "ended live", "as played", "for the same reason")
    return Sheet("Live and played", note, (*columns, "epochs live", "epochs as played"), rows)


def reasons(results: Results, epochs: int) -> Sheet:
    """Return a table of what ended trials, live and as played."""
    live: Counter[tuple[str, str, str]] = Counter()
    played: Counter[tuple[str, str, str]] = Counter()
    for (task, rule), lived in results.items():
        if rule == "plain":
            continue
        live.update((task, rule, each.why) for each in lived if each.why)
        told = foretold(task, results[task, "plain"], epochs, rule).values()
        played.update((task, rule, each.why) for each in told if each.why)
    keys = sorted({*live, *played})
    rows = [[*key, str(live[key]), str(played[key])] for key in keys]
    return Sheet("Why trials ended", "", ("task", "rule", "why", "ended live", "as played"), rows)
