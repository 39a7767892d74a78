"""Run a function in a new process for each item, within a time limit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from time import monotonic
from typing import Any

from benchmarks.worker_pool import Attempt, Failure, set_up_worker

PRELOADED = ("benchmarks.programs.run_program", "sklearn.datasets")
Job = Callable[[str], Any]


@dataclass(frozen=True)
class Running:
    """A process that works on an item."""

    item: str
    process: ForkServerProcess
    answer: Connection
    started: float

    def result(self) -> Any:
        """Return what the process sent, or a failure if it ended without."""
        try:
            return self.answer.recv()
        except EOFError:
            self.process.join()
            return Failure(f"the process ended with status {self.process.exitcode}")

    def close(self) -> None:
        """End the process if it is still alive."""
        self.answer.close()
        self.process.kill()
        self.process.join()


def run_each(
    job: Job,
    items: Sequence[str],
    workers: int,
    limit: float,
    preloaded: Sequence[str] = PRELOADED,
) -> Iterator[tuple[str, Any | Failure]]:
    """Yield each item with its result, or a failure, in order of completion.

    The modules in `preloaded` are imported once, by the process that all others are forked from.
    """
    waiting, running = deque(items), list[Running]()
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                running.append(_start(job, waiting.popleft(), preloaded))
            soon = min(each.started for each in running) + limit
            ready = wait([each.answer for each in running], max(0.0, soon - monotonic()))
            for each in list(running):
                late = monotonic() - each.started > limit
                if each.answer in ready or late:
                    ready_result = each.result() if each.answer in ready else None
                    running.remove(each)
                    each.close()
                    yield each.item, ready_result or Failure(f"it took more than {limit:g} s")
    finally:
        for each in running:
            each.close()


def _start(job: Job, item: str, preloaded: Sequence[str]) -> Running:
    context = get_context("forkserver")
    context.set_forkserver_preload(list(preloaded))
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(job, item, theirs), daemon=True)
    process.start()
    theirs.close()
    return Running(item, process, ours, monotonic())


def _answer(job: Job, item: str, answer: Connection) -> None:
    set_up_worker()
    answer.send(Attempt(job)(item))
