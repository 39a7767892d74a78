"""Attempts in processes of their own. One that dies ends its attempt; none outlives this one."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait

import torch
from torch import Tensor

from sickbay.printable import error_message
from sickbay.repairs.crew import Crew
from sickbay.repairs.report import Report
from sickbay.repairs.trainee import Job, Tick, Trainee, Weights

PATIENCE = 5.0  # seconds that a process gets to leave by itself
LOOK = 1.0  # seconds between two looks whether a silent process is still there


@dataclass(frozen=True)
class News:
    """What a process sends: how its attempt stands, and the weights that are new."""

    report: Report
    best: Weights | None = None
    healthy: Weights | None = None  # only where it rests
    rests: bool = False  # whether it has done what it was asked for


class Elsewhere(Trainee):
    """An attempt in a process of its own; its best weights are sent here epoch by epoch."""

    def __init__(self, job: Job, tick: Tick, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._tick, self._last = tick, Report()
        self._best = self._healthy = job.recipe.model.state_dict()
        self.busy = self._begun = False
        # Not a daemon: those may have no children, such as the workers of a DataLoader.
        args = theirs, to_send(job), threads, multiprocessing.get_start_method(allow_none=True)
        self._process = context.Process(target=serve, args=args, daemon=False)
        try:
            self._process.start()
        except Exception as error:  # whatever pickling raises
            self._last = Report(
                failed=f"it cannot be sent to a worker process: {error_message(error)}"
            )
        finally:
            theirs.close()

    def advance(self, epochs: int, heed: bool = True) -> None:
        if self._last.failed:
            return
        with suppress(OSError):  # one that has died is noticed when it is listened to
            self.pipe.send((epochs, heed))
        self.busy = True

    def report(self) -> Report:
        while self.busy:
            listen([self])
        return self._last

    def weights(self) -> tuple[Weights, Weights]:
        return self._best, self._healthy

    def close(self) -> None:
        if self.pipe.closed:
            return
        with suppress(OSError):
            self.pipe.send(None)
        self.pipe.close()
        if self._process.pid is not None:
            self._end()

    def hear(self) -> None:
        """Take what has been sent; if the process has died, its attempt has failed."""
        dead = self._process.exitcode is not None
        try:
            while self.busy and self.pipe.poll():
                self._take(pickle.loads(self.pipe.recv_bytes()))
        except (EOFError, OSError):
            dead = True
        if self.busy and dead:
            self._process.join(PATIENCE)
            self._last = replace(self._last, failed=self._how_it_ended())
            self.busy = False

    def _take(self, news: News) -> None:
        self._begun = True
        if news.best is not None:
            self._best = self._healthy = news.best
        if news.healthy is not None:
            self._healthy = news.healthy
        if news.report.epochs > self._last.epochs:
            self._tick(news.report)
        self._last, self.busy = news.report, not news.rests

    def _how_it_ended(self) -> str:
        code = self._process.exitcode
        if not self._begun:
            return (
                f"its worker process ended before it began (exit code {code}); a script that uses "
                "workers must start under `if __name__ == '__main__':`."
            )
        if code is None or code >= 0:
            return f"its worker process ended by itself (exit code {code})."
        hint = ", as it happens when memory runs out" if -code == signal.SIGKILL else ""
        return f"its worker process was ended by {signal.Signals(-code).name}{hint}."

    def _end(self) -> None:
        if not self.busy:
            self._process.join(PATIENCE)  # it has its chart to finish
        self._process.terminate()
        self._process.join(PATIENCE)
        self._process.kill()
        self._process.join()


def listen(several: Sequence[Elsewhere]) -> None:
    """Wait until one of some processes has something to say, or is gone, and take it."""
    wait([each.pipe for each in several], LOOK)
    for each in several:
        each.hear()


class Processes(Crew):
    """Trains attempts in processes, so many at a time."""

    def __init__(self, size: int) -> None:
        self._size = size

    def start(self, job: Job, tick: Tick) -> Trainee:
        return Elsewhere(job, tick, threads=max(1, torch.get_num_threads() // self._size))

    def advance(self, trainees: Sequence[Trainee], epochs: int) -> list[Report]:
        waiting, busy = list(trainees), list[Elsewhere]()
        while waiting or busy:
            while waiting and len(busy) < self._size:
                each = waiting.pop(0)
                each.advance(epochs)
                busy += [each] if isinstance(each, Elsewhere) else []
            if busy:
                listen(busy)
            busy = [each for each in busy if each.busy]
        return [each.report() for each in trainees]


def serve(pipe: Connection, job: Job, threads: int, method: str | None) -> None:
    """Train in a process of its own, as asked through a pipe."""
    multiprocessing.set_start_method(method, force=True)  # loaders do as in the first process
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever has started it will end it
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that its own children go as well
    threading.Thread(target=leave_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    try:
        training = job.begin()
    except Exception as error:
        tell(pipe, News(Report(failed=error_message(error), error=error), rests=True))
        return
    tell(pipe, News(training.report()))
    known: Weights = {}
    with suppress(EOFError, OSError):  # nobody listens any more
        while (asked := pipe.recv()) is not None:
            for report in training.each_epoch(*asked):
                best = None if training.best is known else on_cpu(training.best)
                tell(pipe, News(report, best))
                known = training.best
            healthy = on_cpu(training.healthy)
            tell(pipe, News(training.report(), healthy=healthy, rests=True))
    training.close()


def tell(pipe: Connection, news: News) -> None:
    """Send news by value: what is in shared memory would go with the process."""
    pipe.send_bytes(pickle.dumps(news))


def leave_with_parent() -> None:
    """End this process when the one that has started it is gone."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os._exit(1)


def to_send(job: Job) -> Job:
    """Return a job without what lies on a device, or is only for remedies to look at."""
    recipe = replace(job.recipe.on("cpu"), example=(), inputs=None, targets=None)
    start = None if job.start is None else on_cpu(job.start)
    return replace(job, recipe=recipe, start=start)


def on_cpu(weights: Weights) -> Weights:
    """Return weights that can be sent."""
    return {n: each.cpu() if isinstance(each, Tensor) else each for n, each in weights.items()}
