"""Where runs are trained. The plain executor trains them here, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from torch import Tensor

from sickbay.printable import error_message
from sickbay.repairs.data import Data
from sickbay.repairs.run import Progress, Run, Update, Weights
from sickbay.repairs.training_loop import RunSettings, TrainingLoop


class Worker(Protocol):
    """Holds the training loop of one run, which goes on from epoch to epoch."""

    def submit(self, stop_at_findings: bool) -> Future[Any]:
        """Train one more epoch."""

    def result(self, future: Future[Any], before: Progress) -> Update:
        """Return what an epoch changed, or say why it failed."""

    def close(self) -> None:
        """Stop training."""


class Executor:
    """Trains runs, each in a worker of its own.

    Attributes:
        size: How many runs train at the same time.
        pausable: Whether runs can be trained a few epochs at a time.
        remote: Whether workers live in other processes.
    """

    size = 1
    pausable = True
    remote = False

    def __init__(self, data: Data, settings: RunSettings) -> None:
        self._data, self._settings = data, settings
        self._workers: dict[Run, Worker] = {}

    def start(self, run: Run, weights: Weights | None, chart: str | None) -> None:
        """Prepare the training of a run, from these weights if they fit its model."""
        recipe = run.recipe
        if self.remote:  # without what lies on a device, or is only for remedies to look at
            recipe = replace(recipe.on("cpu"), example=(), inputs=None, targets=None)
            weights = on_cpu(weights)
        loop = partial(TrainingLoop, recipe, self._data, self._settings, weights, chart)
        self._workers[run] = self.worker(loop)

    def worker(self, make_loop: Callable[[], TrainingLoop]) -> Worker:
        """Return a new worker."""
        return LocalWorker(make_loop())

    def advance(
        self,
        runs: Sequence[Run],
        epochs: int,
        stop_at_findings: bool,
        on_epoch: Callable[[Run, Update], object],
    ) -> None:
        """Train each run for up to so many more epochs."""
        waiting, training = list(runs), dict[Future[Any], tuple[Run, int]]()

        def train(run: Run, left: int) -> None:
            training[self._workers[run].submit(stop_at_findings)] = run, left - 1

        while waiting or training:
            while waiting and len(training) < self.size:
                train(waiting.pop(0), epochs)
            for future in wait(training, return_when=FIRST_COMPLETED).done:
                run, left = training.pop(future)
                update = self._workers[run].result(future, run.progress)
                on_epoch(run, update)
                if left and not update.over:
                    train(run, left)

    def close(self, run: Run) -> None:
        """Stop the training of a run."""
        if (worker := self._workers.pop(run, None)) is not None:
            worker.close()


class LocalWorker:
    """A training loop in this process."""

    def __init__(self, loop: TrainingLoop) -> None:
        self._loop = loop
        self.close = loop.close

    def submit(self, stop_at_findings: bool) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(self._loop.update(stop_at_findings))
        return future

    def result(self, future: Future[Any], before: Progress) -> Update:  # noqa: ARG002
        update: Update = future.result()
        return update


class RemoteLoop:
    """A training loop in another process. It sends only what has changed, on the CPU."""

    def __init__(self, make_loop: Callable[[], TrainingLoop]) -> None:
        self._make_loop = make_loop
        self._loop: TrainingLoop | None = None
        self._sent: Weights | None = None

    def train_epoch(self, stop_at_findings: bool) -> Update:
        """Train one more epoch."""
        try:
            loop = self._loop = self._loop or self._make_loop()
        except Exception as error:
            return Update(Progress(failed=error_message(error), error=error), over=True)
        update = loop.update(stop_at_findings)
        best = None if update.best is self._sent else on_cpu(update.best)
        self._sent = update.best
        # No run starts from the healthy weights before this one is over.
        return replace(update, best=best, healthy=on_cpu(update.healthy) if update.over else None)

    def close(self) -> None:
        """Complete the chart."""
        if self._loop is not None:
            self._loop.close()


def on_cpu(weights: Weights | None) -> Weights | None:
    """Return weights on the CPU."""
    if weights is None:
        return None
    return {n: each.cpu() if isinstance(each, Tensor) else each for n, each in weights.items()}
