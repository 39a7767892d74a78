"""Measure what the chart of a long run costs: bytes on disk, and time to read and write it.

`python -m benchmarks.chart` prints JSON. The run is made up: a noisy loss and gradient norm, a
learning rate that follows a cosine, and an update ratio at every tenth step.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np

from sickbay.chart import Chart, ChartWriter
from sickbay.vitals import Setup, Vitals

START = 1.75e9  # seconds
EPOCH = 1000  # steps


def made_up(steps: int, seed: int) -> Iterator[Vitals]:
    draw = np.random.default_rng(seed)
    decay = np.exp(-3 * np.arange(steps) / steps)
    losses = (2.3 * decay + 0.1 * draw.random(steps)).astype(np.float32).tolist()
    norms = np.exp(0.3 * draw.normal(size=steps)).tolist()
    rates = (5e-4 * (1 + np.cos(np.pi * np.arange(steps) / steps))).tolist()
    times = (START + np.cumsum(draw.normal(1e-3, 5e-5, steps))).tolist()
    for step in range(steps):
        scalars = {"loss": losses[step], "lr": rates[step], "grad_norm": norms[step]}
        if step % 10 == 0:
            scalars["update_ratio"] = norms[step] / 1000
        yield Vitals(step, step // EPOCH, times[step], scalars)


def write(folder: Path, readings: list[Vitals]) -> list[float]:
    """Write a chart and flush it after each epoch. Return the seconds of each `append`."""
    calls = []
    with closing(ChartWriter(folder, Setup(epochs=len(readings) // EPOCH))) as writer:
        for vitals in readings:
            before = perf_counter()
            writer.append(vitals)
            calls.append(perf_counter() - before)
            if vitals.step % EPOCH == EPOCH - 1:
                writer.end_epoch(vitals.epoch, {"val_loss": vitals.scalars["loss"]})
                writer.flush()
    return calls


def timed(action: Callable[[], object], times: int = 3) -> float:
    """Return the median CPU seconds of an action, so that other processes do not count."""
    seconds = []
    for _ in range(times):
        before = process_time()
        action()
        seconds.append(process_time() - before)
    return median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        readings = list(made_up(options.steps, options.seed))
        before = process_time()
        calls = write(Path(folder) / "run", readings)
        written = process_time() - before
        del readings
        chart = Chart.open(Path(folder) / "run")
        size = sum(each.stat().st_size for each in chart.path.iterdir())
        report = {
            "steps": options.steps,
            "megabytes": round(size / 1e6, 2),
            "CPU seconds to read everything": round(timed(chart.history), 2),
            "CPU milliseconds to read the newest 512 steps": round(
                1e3 * timed(lambda: chart.history(512)), 1
            ),
            "microseconds per call of append": round(1e6 * median(calls), 2),
            "CPU microseconds per step, including writing": round(1e6 * written / options.steps, 2),
        }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
