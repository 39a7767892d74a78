"""Who watches: nobody, sickbay, or one of the tools people use today; and how they take turns.

Every watcher is made for one model and its optimizer and is told the loss of each step. The other
tools are imported when they are first used, and what they print is muted.
"""

from __future__ import annotations

import gc
import logging
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import (
    ExitStack,
    contextmanager,
    nullcontext,
    redirect_stderr,
    redirect_stdout,
    suppress,
)
from dataclasses import dataclass
from importlib import import_module
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

import sickbay
from benchmarks.overhead.workloads import WORKLOADS, Loop, Plan, Workload


class Watcher:
    """Somebody who watches a loop; this one does not look."""

    def __init__(self, model: nn.Module, optimizer: Optimizer) -> None:
        pass

    def step(self, loss: Tensor) -> None:
        """Be told that a step was made."""

    def pause(self) -> None:
        """Be told that the loop stops for a while, in which another one runs."""

    def resume(self) -> None:
        """Be told that the loop goes on."""

    def own_time(self) -> float:
        """Return the seconds spent inside the watcher so far, by its own account."""
        return 0.0

    def trouble(self) -> str:
        """Return what went wrong inside the watcher, if it said so instead of raising."""
        return ""

    def facts(self) -> dict[str, Any]:
        """Return what else is worth knowing about the run."""
        return {}

    def close(self) -> None:
        """Let go of the model."""


class Sickbay(Watcher):
    """Sickbay with the given options."""

    def __init__(self, model: nn.Module, optimizer: Optimizer, **options: Any) -> None:
        self.doctor = sickbay.watch(model, optimizer, **{"on_finding": "silent", **options})
        self.pause()

    def step(self, loss: Tensor) -> None:
        self.doctor.step(loss)

    def pause(self) -> None:
        self._paused = perf_counter()

    def resume(self) -> None:
        # Else the pause would count as one very long step, and the budget would pay for more.
        self.doctor._governor._last += perf_counter() - self._paused

    def own_time(self) -> float:
        booked = self.doctor._governor.own_time + sum(self.doctor._clock._spent.values())
        return booked + self.doctor._clock.passing

    def trouble(self) -> str:
        return "; ".join(event.text for event in self.doctor.events if event.kind == "trouble")

    def facts(self) -> dict[str, Any]:
        history, reads = self.doctor.history, dict[str, float]()
        for kind in ("gradient", "weight", "activation"):
            if tables := history.tables(kind, 32):
                reads[kind] = (history.step + 1 - tables[0].step) / len(tables)
        findings = sorted({finding.problem for finding in self.doctor.findings})
        return {"steps_between_readings": reads, "findings": findings}

    def close(self) -> None:
        self.doctor.close()


class Wandb(Watcher):
    """`wandb.watch(model, log="all", log_freq=1)` and the loss logged at each step, offline."""

    FOLDERS = ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR")

    def __init__(self, model: nn.Module, _optimizer: Optimizer) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        os.environ.update(dict.fromkeys(self.FOLDERS, self._folder.name))
        os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true", WANDB_ERROR_REPORTING="false")
        self._wandb: Any = import_module("wandb")
        settings = self._wandb.Settings(console="off", silent=True)
        self._wandb.init(project="overhead", dir=self._folder.name, settings=settings)
        self._wandb.watch(model, log="all", log_freq=1)

    def step(self, loss: Tensor) -> None:
        self._wandb.log({"loss": loss.item()})

    def close(self) -> None:
        self._wandb.unwatch()
        self._wandb.finish()
        self._folder.cleanup()


class TorchAudit(Watcher):
    """`torch_audit.autopatch(model, optimizer=optimizer)`; by default it looks every 1000 steps."""

    def __init__(self, model: nn.Module, optimizer: Optimizer, **options: Any) -> None:
        autopatch = import_module("torch_audit").autopatch
        self._auditor: Any = autopatch(model, optimizer=optimizer, **options)

    def step(self, loss: Tensor) -> None:
        pass  # it has patched the model and the optimizer

    def close(self) -> None:
        self._auditor.unpatch()


class Torchmortem(Watcher):
    """`with torchmortem.Autopsy(model, optimizer)`."""

    def __init__(self, model: nn.Module, optimizer: Optimizer) -> None:
        self._autopsy: Any = import_module("torchmortem").Autopsy(model, optimizer)
        self._autopsy.__enter__()

    def step(self, loss: Tensor) -> None:
        self._autopsy.step(loss=loss.item())

    def close(self) -> None:
        self._autopsy.__exit__(None, None, None)


Make = Callable[[nn.Module, Optimizer], Watcher]
Report = dict[str, Any]
Tick = Callable[[str], None]  # called before each piece of work with what it is

# The second shows how well the measurement resolves.
PLAIN: dict[str, Make] = {"plain": Watcher, "plain_again": Watcher}
OWN: dict[str, Make] = {
    "default": Sickbay,
    "every_1": lambda model, optimizer: Sickbay(
        model, optimizer, every={"gradient": 1}, activations=False
    ),
    "every_1_all": lambda model, optimizer: Sickbay(model, optimizer, every=1),
    "treat": lambda model, optimizer: Sickbay(model, optimizer, on_finding="treat"),
}
RIVALS: dict[str, Make] = {
    "wandb_watch": Wandb,
    "torch_audit": TorchAudit,
    "torch_audit_1": lambda model, optimizer: TorchAudit(model, optimizer, every_n_steps=1),
    "torchmortem": Torchmortem,
}


@contextmanager
def muted() -> Iterator[None]:
    """Let nothing be printed, logged or warned about."""
    before = logging.root.manager.disable
    with open(os.devnull, "w") as nowhere, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            with redirect_stdout(nowhere), redirect_stderr(nowhere):
                yield
        finally:
            logging.disable(before)


@dataclass(frozen=True)
class Cost:
    """Seconds a step, over one block."""

    cpu: float
    own: float = 0.0


class MeasuredLoop:
    """One variant: a loop, whoever watches it, and what its blocks cost."""

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
        """Let the watcher go, whatever became of it."""
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
        if measured:  # own time is wall clock; time that others took from us is taken off
            self.costs.append(Cost(cpu / steps, own / steps * cpu / wall))
        if watcher.trouble():
            self.status = f"failed: {watcher.trouble()}"

    def _attempt(self, action: Callable[[], object]) -> None:
        """Do something; if it fails, say so in the status and do nothing more."""
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
    """Run all variants of a workload in turns and return what they cost."""
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
    """Return the costs of a variant against those of the plain loop in the same rounds."""
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
