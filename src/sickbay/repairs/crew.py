"""Who trains the attempts: this process, processes of their own, or a Ray cluster."""

from __future__ import annotations

import logging
import multiprocessing
import os
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor

from sickbay.errors import SickbayError, UsageError
from sickbay.recipe import Recipe
from sickbay.repairs.data import Data
from sickbay.repairs.training import Report, Terms, Training

Weights: TypeAlias = dict[str, Tensor]
Workers: TypeAlias = int | Literal["ray"] | None
PATIENCE = 5  # seconds that a worker gets to finish its chart


@dataclass(frozen=True)
class Job:
    """What a training needs to begin."""

    recipe: Recipe
    data: Data | None  # None where the loop is the user's
    terms: Terms
    start: Weights | None = None
    chart: str | None = None

    def begin(self, tick: Callable[[], object] = lambda: None) -> Training:
        assert self.data is not None  # a loop of one's own is not begun here
        return Training(self.recipe, self.data, self.terms, self.start, self.chart, tick)


class Trainee(ABC):
    """An attempt in training somewhere; `advance` asks, `report` waits for the answer."""

    @abstractmethod
    def advance(self, epochs: int, heed: bool = True) -> None:
        """Ask for some more epochs."""

    @abstractmethod
    def report(self) -> Report:
        """Wait for what was asked, and return where it stands."""

    @abstractmethod
    def weights(self) -> tuple[Weights, Weights]:
        """Return the best weights, and the last healthy ones."""

    @abstractmethod
    def close(self) -> None:
        """Stop it."""


class Here(Trainee):
    """An attempt in this process."""

    def __init__(self, job: Job, tick: Callable[[], object]) -> None:
        self.training = job.begin(tick)
        self._asked: list[tuple[int, bool]] = []

    def advance(self, epochs: int, heed: bool = True) -> None:
        self._asked.append((epochs, heed))

    def report(self) -> Report:
        for asked in self._asked:
            self.training.advance(*asked)
        self._asked.clear()
        return self.training.report()

    def weights(self) -> tuple[Weights, Weights]:
        return self.training.best, self.training.healthy

    def close(self) -> None:
        self.training.close()


class Remembered(Trainee):
    """An attempt that was over in an earlier run; it reports, heat by heat, what it did then."""

    def __init__(self, reports: Sequence[Report], best: Weights, healthy: Weights) -> None:
        self._reports, self._weights = reports, (best, healthy)
        self._heat = -1

    def advance(self, epochs: int, heed: bool = True) -> None:  # noqa: ARG002 - as it was then
        self._heat = min(self._heat + 1, len(self._reports) - 1)

    def report(self) -> Report:
        return self._reports[self._heat]

    def weights(self) -> tuple[Weights, Weights]:
        return self._weights

    def close(self) -> None: ...


def serve(pipe: Connection, job: Job, threads: int) -> None:
    """Train in a process of its own, as asked through a pipe."""
    torch.set_num_threads(threads)
    try:
        training = job.begin()
        while (asked := pipe.recv()) is not None:
            what, *args = asked
            if what == "advance":
                pipe.send(training.advance(*args))
            else:
                pipe.send((on_cpu(training.best), on_cpu(training.healthy)))
        training.close()
    except (EOFError, KeyboardInterrupt):
        return
    except Exception:
        pipe.send(traceback.format_exc())


def on_cpu(weights: Weights) -> Weights:
    """Return weights that outlive the process they were trained in."""
    return {name: each.cpu() for name, each in weights.items()}


class Elsewhere(Trainee):
    """An attempt in a process of its own."""

    def __init__(self, job: Job) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        threads = max(1, torch.get_num_threads() // 2)
        self._process = context.Process(target=serve, args=(theirs, job, threads), daemon=True)
        self._process.start()
        theirs.close()
        self._last, self._waiting = Report(), 0

    def advance(self, epochs: int, heed: bool = True) -> None:
        self._send("advance", epochs, heed)
        self._waiting += 1

    def report(self) -> Report:
        while self._waiting:
            self._last = self._receive()
            self._waiting -= 1
        return self._last

    def weights(self) -> tuple[Weights, Weights]:
        self._send("weights")
        weights: tuple[Weights, Weights] = self._receive()
        return weights

    def close(self) -> None:
        if self._pipe.closed:
            return
        with suppress(OSError):
            self._pipe.send(None)
        self._process.join(PATIENCE)
        self._process.terminate()
        self._process.join()
        self._pipe.close()

    def _send(self, *asked: Any) -> None:
        with suppress(OSError):  # a worker that has died has left word, which is read next
            self._pipe.send(asked)

    def _receive(self) -> Any:
        try:
            answer = self._pipe.recv()
        except (EOFError, OSError):
            code = self._process.exitcode
            raise SickbayError(f"A worker process ended (exit code {code}).") from None
        if isinstance(answer, str):
            raise SickbayError(f"A worker process failed:\n{answer}")
        return answer


class Remote(Trainee):
    """An attempt on a Ray cluster."""

    def __init__(self, ray: Any, job: Job) -> None:
        self._ray = ray
        self._actor: Any = ray.remote(num_cpus=0.5)(Here).remote(job, _nothing)
        self._asked: Any = None

    def advance(self, epochs: int, heed: bool = True) -> None:
        self._actor.advance.remote(epochs, heed)
        self._asked = self._actor.report.remote()

    def report(self) -> Report:
        report: Report = self._ray.get(self._asked)
        return report

    def weights(self) -> tuple[Weights, Weights]:
        weights: tuple[Weights, Weights] = self._ray.get(self._actor.weights.remote())
        return weights

    def close(self) -> None:
        self._ray.kill(self._actor)


def _nothing() -> None:
    """Do nothing, in a way that can be sent to another process."""


class Crew:
    """Starts trainees, of the kind that was asked for."""

    runners = 4  # candidates that may run beside each other

    def __init__(self, workers: Workers, tick: Callable[[], object]) -> None:
        self.workers, self._tick = check_workers(workers), tick
        self._ray = start_ray() if self.workers == "ray" else None

    def start(self, job: Job) -> Trainee:
        """Start one attempt."""
        if self._ray is not None:
            return Remote(self._ray, job)
        return Elsewhere(job) if isinstance(self.workers, int) else Here(job, self._tick)

    def advance(self, trainees: Sequence[Trainee], epochs: int) -> list[Report]:
        """Train several on, side by side where that is possible."""
        size = self.workers if isinstance(self.workers, int) else len(trainees)
        reports: list[Report] = []
        for place in range(0, len(trainees), max(size, 1)):
            group = trainees[place : place + size]
            for each in group:
                each.advance(epochs)
            reports += [each.report() for each in group]
        return reports


def check_workers(workers: Workers) -> Workers:
    """Return `workers`, or say what it must be."""
    whole = isinstance(workers, int) and not isinstance(workers, bool) and workers >= 1
    if workers is not None and workers != "ray" and not whole:
        raise UsageError(f"workers must be a number from 1 on, 'ray' or None, got {workers!r}.")
    return None if workers == 1 else workers


def start_ray() -> Any:
    """Return Ray, connected to a cluster, or with one started here; say so if it is missing."""
    try:
        ray: Any = import_module("ray")
    except ImportError:
        raise UsageError(
            "workers='ray' needs the package ray: pip install 'sickbay[ray]'."
        ) from None
    if not ray.is_initialized():
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    return ray
