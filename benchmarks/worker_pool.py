"""Process a list of items in several processes and show a progress bar."""

from __future__ import annotations

import os
import signal
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Generic, TypeVar

from rich.console import Console

from benchmarks.command_line import progress_bar

WORKERS = 2
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Failure:
    """Why an item has no result."""

    why: str


@dataclass(frozen=True)
class Attempt(Generic[Item, Result]):
    """Calls a function. An exception becomes a `Failure`, which can always be pickled."""

    function: Callable[[Item], Result]

    def __call__(self, item: Item) -> Result | Failure:
        try:
            return self.function(item)
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{os.path.basename(frame.filename)}:{frame.lineno}"
            return Failure(f"{type(error).__name__}: {error} ({place})")


def set_up_worker() -> None:
    """Set up a worker process: one thread, no warnings, and no traceback at Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)


def work(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    what: str,
    console: Console,
    workers: int = WORKERS,
) -> Iterator[tuple[Item, Result | Failure]]:
    """Yield each item with its result, in order of completion. A failure stops no other item."""
    waiting = deque(items)
    with progress_bar(console) as bar:
        task = bar.add_task(what, total=len(items))
        while waiting:  # with a new pool if a worker was killed
            for item, result in run_pool(Attempt(function), waiting, workers):
                bar.advance(task)
                yield item, result


def run_pool(
    function: Callable[[Item], Result | Failure], waiting: deque[Item], workers: int
) -> Iterator[tuple[Item, Result | Failure]]:
    """Yield results until no item is left or a worker dies. Running items then fail."""
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=set_up_worker)
    running: dict[Future[Result | Failure], Item] = {}
    try:
        while waiting or running:
            while waiting and len(running) <= workers:
                future = pool.submit(function, waiting[0])
                running[future] = waiting.popleft()
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                item = running.pop(future)
                try:
                    yield item, future.result()
                except BrokenProcessPool:
                    yield item, Failure("a worker process died")
    except BrokenProcessPool:  # from submit
        yield from ((item, Failure("a worker process died")) for item in running.values())
    finally:
        pool.shutdown(wait=not running, cancel_futures=True)  # else its pipes may break at exit
