"""Measure what watching a training loop costs: `python -m benchmarks.overhead`.

How to read the numbers:
    CPU ratio: process CPU time of a step (all threads), divided by that of the plain loop in the
        same round. The table shows the median and quartiles of the rounds. `plain_again` compares
        the plain loop with itself, so differences within its quartiles are noise. Processes that a
        tool starts, and the time spent waiting for them, are not counted. This favours such tools.
    own: CPU time inside sickbay, divided by the CPU time of the plain loop. This is the mean of all
        rounds, because even a reading in only one of three rounds must count. It shows differences
        far below the noise of the ratio, so the limits apply to it. Sickbay's own clock measures
        wall time in its hooks and in `step`. This is multiplied by the fraction of the block's wall
        time in which the process ran. The time that torch needs to call a hook is not included.

Every variant has its own model, optimizer and data, from the same seed and on one thread. The
variants take turns in blocks of about half a second in one process. The order rotates and
reverses, so that no variant is always first or always follows the same one. The warm-up before the
first block is not measured. `default` reads only some steps, so its blocks are longer. All numbers
are per step.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from statistics import median

import torch
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.command_line import write_at_once
from benchmarks.overhead.command_options import arguments
from benchmarks.overhead.long_run import CHUNK, measure_long, show_long
from benchmarks.overhead.measure_in_turns import Report, Tick, measure
from benchmarks.overhead.workloads import QUICK, WORKLOADS, Plan

METHOD = {
    "summary": "own cost: CPU seconds inside sickbay / CPU seconds of the plain loop",
    "own": "wall time in sickbay's hooks and step by its own clock, times the block's CPU time "
    "over its wall time, divided by the CPU time of the plain loop; per step, mean of all rounds; "
    "without the time that torch needs to call a hook",
    "cpu_ratio": "process CPU time of a step divided by that of the plain loop in the same round, "
    "median and quartiles; without processes that a tool starts",
    "warm-up": "the first warmup_steps of every variant are not measured",
}
LIMITS = {  # of the own cost
    "default": {"gpt": 0.01, "cnn": 0.01, "mlp": 0.01},
    "every_1": {"gpt": 0.015, "cnn": 0.007, "mlp": 0.2},
}
IMPORTS = {
    "torch": "import torch",
    "torch_and_sickbay": "import torch, sickbay",
    "torch_and_sickbay_watch": "import torch; from sickbay import watch",
}


def measure_imports(rounds: int, tick: Tick) -> Report:
    """Return the median seconds that imports take in a new interpreter."""
    clocks = "from time import perf_counter as w, process_time as c; a, b = w(), c()"
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in IMPORTS}
    for turn in range(rounds + 1):
        tick("import")
        for name, code in IMPORTS.items():
            script = f"{clocks}; {code}; print(w() - a, c() - b)"
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
            wall, cpu = map(float, done.stdout.split())
            if turn:  # the first round only loads the files into the page cache
                costs[name].append((wall, cpu))
    return {
        name: dict(zip(("wall", "cpu"), map(median, zip(*pairs, strict=True)), strict=True))
        for name, pairs in costs.items()
    }


def show(report: Report, console: Console) -> None:
    """Print the table."""
    table = Table(title="Cost of watching")
    for name in ("workload", "variant", "CPU ratio", "quartiles", "own", "limit"):
        table.add_column(name, justify="left" if name in ("workload", "variant") else "right")
    for workload, measured in report["workloads"].items():
        for variant, entry in measured["variants"].items():
            table.add_row(workload, variant, *cells(workload, variant, entry))
        table.add_section()
    console.print(table)
    console.print("The limits apply to the own cost. plain_again shows the noise of the CPU ratio.")
    for name, cost in report["import_seconds"].items():
        console.print(f"{IMPORTS[name]}: {cost['wall']:.2f} s ({cost['cpu']:.2f} s CPU)")


def cells(workload: str, variant: str, entry: Report) -> list[str]:
    """Return the cells of the table for one variant."""
    if entry["status"] != "ok":
        return [escape(entry["status"])]
    own = entry.get("own")
    ratio = {name: short(value) for name, value in entry["cpu_ratio"].items()}
    row = [ratio["median"], f"{ratio['lower_quartile']} to {ratio['upper_quartile']}"]
    limit = LIMITS.get(variant, {}).get(workload)
    if own is not None:
        row.append(f"{own['mean']:.2%}")
    if own is not None and limit is not None:
        held = own["mean"] <= limit
        row.append(f"{limit:.1%} " + ("[green]ok[/]" if held else "[red]over[/]"))
    return row


def short(ratio: float) -> str:
    return f"{ratio:.3f}" if ratio < 10 else f"{ratio:.1f}"


@contextmanager
def progress(total: int) -> Iterator[Tick]:
    """Show progress on stderr, updated between blocks only: a thread would be measured too."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(file=sys.stderr)
    with Progress(
        *columns, TimeElapsedColumn(), console=console, transient=True, auto_refresh=False,
        redirect_stdout=False, redirect_stderr=False,
    ) as bar:  # fmt: skip
        task, begun = bar.add_task("", total=total), count()
        yield lambda what: bar.update(task, description=what, completed=next(begun), refresh=True)


def measure_all(given: argparse.Namespace) -> Report:
    """Run the measurements that the arguments select."""
    about = {"python": platform.python_version(), "torch": torch.__version__, "threads": 1}
    report: Report = {"method": METHOD, "about": {**about, "quick": given.quick}}
    if given.long:
        with progress(given.steps // CHUNK) as tick:
            return {**report, "long": measure_long(given.steps, tick)}
    plan, makes = QUICK if given.quick else Plan(), given.makes
    names = [given.only] if given.only else list(WORKLOADS)
    with progress(len(names) * len(makes) * (1 + plan.rounds) + plan.imports + 1) as tick:
        workloads = {name: measure(name, makes, plan, tick) for name in names}
        imports = measure_imports(plan.imports, tick)
    report.update(summary=summary(workloads), limits=LIMITS, rounds=plan.rounds)
    return {**report, "workloads": workloads, "import_seconds": imports}


def summary(workloads: Mapping[str, Report]) -> dict[str, dict[str, float]]:
    """Return the own costs that have a limit."""
    return {
        name: {
            variant: measured["variants"][variant]["own"]["mean"]
            for variant in LIMITS
            if "own" in measured["variants"].get(variant, {})
        }
        for name, measured in workloads.items()
    }


def main(args: Sequence[str] | None = None) -> int:
    given, console = arguments(args, __doc__ or ""), Console()
    if given.device == "cuda":
        return measure_gpu(given, console)
    torch.set_num_threads(1)
    try:
        report = measure_all(given)
    except KeyboardInterrupt:
        console.print("Interrupted. Nothing was written.")
        return 130
    if "long" in report:
        show_long(report["long"], console)
    else:
        show(report, console)
    if given.json is not None:
        write_at_once(given.json, json.dumps(report, indent=2) + "\n")
    return 0


def measure_gpu(given: argparse.Namespace, console: Console) -> int:
    from benchmarks.overhead import measure_on_gpu  # needs Triton

    report = measure_on_gpu.measure_all(given.quick, Console(stderr=True))
    measure_on_gpu.show(report, console)
    if given.json is not None:
        write_at_once(given.json, json.dumps(report, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
