"""Measure how long judging one reading takes: `python -m benchmarks.judging`.

The problems of a profile judge the history of a healthy network after every reading, as the doctor
does. Every reading holds new tables of all kinds. The limit applies to 100 layers.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.console import Console

from benchmarks.command_line import new_parser
from sickbay.doctor.causes import Causes
from sickbay.history import History
from sickbay.probe.guard import Guard
from sickbay.problems.profiles import PROFILES
from sickbay.vitals import COLUMN, Kind, Setup, Table, Vitals

LIMIT, LAYERS = 2e-4, 100
KINDS: tuple[Kind, ...] = ("gradient", "weight", "activation")
CALM = {
    "update_ratio": 1e-3,
    **dict.fromkeys(("nonfinite", "zeros", "dead_units", "lasting_dead"), 0.0),
}


def measure(layers: int, readings: int, profile: str) -> float:
    """Return the median seconds that judging one reading takes."""
    history, rng = History(setup(layers)), np.random.default_rng(0)
    causes = Causes(PROFILES[profile], Guard(print))
    times = []
    for step in range(readings):
        history.append(reading(history.setup, step, rng))
        start = perf_counter()
        verdict = causes.judge(history)
        times.append(perf_counter() - start)
        if verdict.new:
            raise SystemExit(f"The network should be healthy, but got: {verdict.new[0]}")
    return statistics.median(times)


def setup(layers: int) -> Setup:
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in range(layers):
        shapes |= {f"{layer}.weight": (64, 64), f"{layer}.bias": (64,)}
    return Setup(layers={str(layer): "Linear" for layer in range(layers)}, shapes=shapes)


def reading(about: Setup, step: int, rng: np.random.Generator) -> Vitals:
    """Return a reading of a healthy network: a falling loss, and tables with usual values."""
    tables = []
    for kind in KINDS:
        names = tuple(about.layers if kind == "activation" else about.shapes)
        values = rng.uniform(0.05, 0.1, (len(names), len(COLUMN)))
        for column, value in CALM.items():
            values[:, COLUMN[column]] = value
        tables.append(Table(kind, step, names, values))
    return Vitals(step, scalars={"loss": 2.3 * 0.99**step, "grad_norm": 1.0}, tables=tables)


def main(args: Sequence[str] | None = None) -> int:
    parser = new_parser("judging", __doc__)
    parser.add_argument(
        "--layers", metavar="N", type=int, default=LAYERS, help="layers of the network (100)"
    )
    parser.add_argument(
        "--readings", metavar="N", type=int, default=500, help="readings to judge (500)"
    )
    parser.add_argument("--profile", choices=PROFILES, default="default")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the results to FILE")
    given = parser.parse_args(args)
    seconds = measure(given.layers, given.readings, given.profile)
    verdict = "" if given.layers != LAYERS else f" (limit {1e3 * LIMIT:g} ms)"
    about = f"{given.layers} layers, profile {given.profile}, median of {given.readings}"
    Console().print(f"{1e3 * seconds:.3f} ms{verdict}: {about} readings.")
    if given.json is not None:
        report = {**vars(given), "seconds": seconds, "limit": LIMIT, "json": str(given.json)}
        given.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
