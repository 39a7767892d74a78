"""Run the variants of a workload in turns, in one process, and measure what each costs."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Any

from benchmarks.overhead.watchers import OWN, PLAIN, RIVALS, Make, Watcher, muted
from benchmarks.overhead.workloads import WORKLOADS, Loop, Plan, Workload

Report = dict[str, Any]
Tick = Callable[[str], None]  # called with a description before each piece of work


@dataclass(frozen=True)
class Cost:
    """Seconds per step in one block."""

    cpu: float
    own: float = 0.0


class MeasuredLoop:
    """One variant: a loop, its watcher, and the costs of its blocks."""

    def __init__(self, name: str, workload: Workload, make: Make) -> None:
        self.name, self.status, self.costs = name, "ok", list[Cost]()
        self._quiet = muted if name in RIVALS else nullcontext
        self.loop = Loop(workload)
        self.watcher = Watcher(self.loop.model, self.loop.optimizer)
        self._attempt(lambda: self._start(make))

    def run(self, steps: int, measured: bool = True) -> None:
        """Run one block."""
        gc.collect()
        self._attempt(lambda: self._run(steps, measured))

    def close(self) -> None:
        """Close the watcher, even if it failed."""
        with suppress(Exception), self._quiet():
            self.watcher.close()

    def _start(self, make: Make) -> None:
        self.watcher = make(self.loop.model, self.loop.optimizer)

    def _run(self, steps: int, measured: bool) -> None:
        watcher = self.watcher
        watcher.resume()
        own, wall, cpu = watcher.own_time(), perf_counter(), process_time()
        self.loop.run(steps, watcher.step)
        cpu, wall, own = process_time() - cpu, perf_counter() - wall, watcher.own_time() - own
        watcher.pause()
        if measured:  # own time is wall time, so scale it to CPU time
            self.costs.append(Cost(cpu / steps, own / steps * cpu / wall))
        if watcher.trouble():
            self.status = f"failed: {watcher.trouble()}"

    def _attempt(self, action: Callable[[], object]) -> None:
        """Run an action. If it fails, set the status and skip all further actions."""
        if self.status != "ok":
            return
        try:
            with self._quiet():
                action()
        except ModuleNotFoundError:
            self.status = "not installed"
        except Exception as error:
            if self.name in PLAIN:
                raise
            self.status = f"failed: {type(error).__name__}: {error}"


def measure(title: str, makes: Mapping[str, Make], plan: Plan, tick: Tick) -> Report:
    """Run all variants of a workload in turns and return their costs."""
    workload = WORKLOADS[title]
    warmup = workload.warmup // plan.haste
    warmups = {name: warmup // 4 if name in RIVALS else warmup for name in makes}
    steps = {
        name: workload.steps * (plan.stretch if name in ("default", "treat") else 1)
        for name in makes
    }
    with ExitStack() as stack:
        loops: list[MeasuredLoop] = []
        for name, make in makes.items():
            tick(f"{title}: {name}, warm-up")
            loops.append(MeasuredLoop(name, workload, make))
            stack.callback(loops[-1].close)
            loops[-1].run(warmups[name], measured=False)
        for turn in range(plan.rounds):
            first, way = turn % len(loops), 1 if turn % 2 else -1
            for loop in (loops[first:] + loops[:first])[::way]:
                tick(f"{title}: {loop.name}")
                loop.run(steps[loop.name])
        plain = loops[0]
        report = {loop.name: describe(loop, plain.costs) for loop in loops}
    for name, entry in report.items():
        entry.update(warmup_steps=warmups[name], block_steps=steps[name])
    parameters = list(plain.loop.model.parameters())
    return {
        "parameters": sum(each.numel() for each in parameters),
        "parameter_tensors": len(parameters),
        "plain_step_seconds": median(cost.cpu for cost in plain.costs),
        "variants": report,
    }


def describe(loop: MeasuredLoop, plain: Sequence[Cost]) -> Report:
    """Return the costs of a variant relative to the plain loop in the same rounds."""
    if loop.status != "ok":
        return {"status": loop.status}
    pairs = list(zip(loop.costs, plain, strict=True))
    ratios = spread([one.cpu / base.cpu for one, base in pairs])
    report: Report = {"status": "ok", "cpu_ratio": ratios}
    if loop.name in OWN:
        report["own"] = {
            "mean": sum(one.own for one in loop.costs) / sum(base.cpu for base in plain),
            **spread([one.own / base.cpu for one, base in pairs]),
        }
    return {**report, **loop.watcher.facts()}


def spread(values: Sequence[float]) -> dict[str, float]:
    lower, middle, upper = quantiles(values, n=4, method="inclusive")
    return {"median": middle, "lower_quartile": lower, "upper_quartile": upper}
