"""Measure what checking costs: CPU time by interval, and the peak memory of a fresh process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from benchmarks.published.autotrainer.cases import Case, all_cases
from benchmarks.published.autotrainer.data_sets import EXPECTED
from benchmarks.published.autotrainer.prepare import prepare
from benchmarks.published.autotrainer.record import rules
from benchmarks.published.autotrainer.repair_case import STRATEGIES, repair_case
from benchmarks.published.autotrainer.train import doctor_for, train

INTERVALS = (1, 2, 3, 5, 9, 15)  # epochs between two checks
ROUNDS = 5  # plain and watched trainings take turns
WAYS = ("plain", "watched", *STRATEGIES)


def cpu_seconds(case: Case, folder: Path | None, every: int | None) -> float:
    """Train once, with a check every so many epochs or without any, and return the CPU seconds."""
    prepared = prepare(case, folder)
    start = process_time()
    doctor = None
    if every is not None:
        problems = tuple(rules(EXPECTED[case.data]).values())
        doctor = doctor_for(prepared, problems, every)
    train(prepared, case.seed, doctor)
    return process_time() - start


def time_checks(case: Case, folder: Path | None, every: int) -> dict[str, Any]:
    """Return how much longer a sound training takes with a check every so many epochs."""
    cpu_seconds(case, folder, 1)  # the first run of a process also loads modules
    plain, added = [cpu_seconds(case, folder, None)], []
    for _ in range(ROUNDS):
        watched = cpu_seconds(case, folder, every)
        plain.append(cpu_seconds(case, folder, None))
        added.append(2 * watched / (plain[-2] + plain[-1]) - 1)
    return {"added": median(added), "plain_seconds": median(plain)}


def measure_memory(case: Case, folder: Path | None, way: str) -> dict[str, Any]:
    """Return the peak memory of a training in a process of its own."""
    words = [sys.executable, "-m", __name__, case.name, way, str(folder or "")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return {"bytes": json.loads(done.stdout)}


def peak_memory() -> int:
    """Return the peak memory of this process in bytes.

    Not `ru_maxrss`: a process that was started by a larger one inherits the peak of that one.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(peak) << 10


def main(name: str, way: str, folder: str) -> None:
    """Train one case in one way and print the peak memory of this process."""
    import torch

    torch.set_num_threads(1)
    (case,) = (each for each in all_cases() if each.name == name)
    data = Path(folder) if folder else None
    if way in STRATEGIES:
        repair_case(case, data, way)
    else:
        cpu_seconds(case, data, 3 if way == "watched" else None)
    print(json.dumps(peak_memory()))


if __name__ == "__main__":
    main(*sys.argv[1:])
