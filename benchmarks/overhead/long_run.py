"""Check that the cost of a long run does not grow: `python -m benchmarks.overhead --long`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.overhead.measure_in_turns import MeasuredLoop, Report, Tick
from benchmarks.overhead.watchers import OWN, PLAIN
from benchmarks.overhead.workloads import WORKLOADS

CHUNK = 1000  # steps of one loop before the other continues


def measure_long(steps: int, tick: Tick) -> Report:
    """Run the mlp watched and plain in turns, and compare the end with the start."""
    workload, memory = WORKLOADS["mlp"], []
    with ExitStack() as stack:
        watched, plain = (
            MeasuredLoop(name, workload, make)
            for name, make in (("default", OWN["default"]), ("plain", PLAIN["plain"]))
        )
        stack.callback(watched.close)
        for done in range(0, steps, CHUNK):
            tick(f"{done:,} of {steps:,} steps")
            for loop in (watched, plain):
                loop.run(CHUNK, measured=done > 0)
            memory.append(resident_megabytes())
    if watched.status != "ok":
        return {"status": watched.status, "steps": steps}
    pairs = list(zip(watched.costs, plain.costs, strict=True))
    own = [one.own / base.cpu for one, base in pairs]
    return {
        "status": watched.status,
        "steps": steps,
        "chunk_steps": CHUNK,
        "warmup_steps": CHUNK,
        "own": ends(own),
        "own_microseconds": ends([1e6 * one.own for one in watched.costs]),
        "cpu_ratio": ends([one.cpu / base.cpu for one, base in pairs]),
        "resident_mb": {
            "after_2000_steps": memory[1],
            "end": memory[-1],
            "growth": memory[-1] - memory[1],
        },
        "own_of_each_chunk": own,
        **watched.watcher.facts(),
    }


def ends(values: Sequence[float]) -> dict[str, float]:
    """Return the first and last value, and the less noisy medians of ten at each end."""
    return {
        "first": values[0],
        "last": values[-1],
        "first_ten": median(values[:10]),
        "last_ten": median(values[-10:]),
    }


def resident_megabytes() -> float:
    """Return the resident memory of this process, or its peak where only that is available."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1e6 if sys.platform == "darwin" else 1e3)


def show_long(long: Report, console: Console) -> None:
    if long["status"] != "ok":
        console.print(escape(long["status"]))
        return
    table = Table(title=f"mlp with defaults, {long['steps']:,} steps")
    for name in (
        "",
        "first 1,000 steps",
        "last 1,000",
        "first 10,000, median",
        "last 10,000, median",
    ):
        table.add_column(name, justify="right")
    for name, form in (("own", "{:.2%}"), ("own_microseconds", "{:.1f}"), ("cpu_ratio", "{:.3f}")):
        table.add_row(name.replace("_", " "), *map(form.format, long[name].values()))
    console.print(table)
    after, end, _ = long["resident_mb"].values()
    console.print(f"memory: {after:.1f} MB after 2,000 steps, {end:.1f} MB at the end")
