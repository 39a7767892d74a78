"""Where runs are trained: in this process, in processes of their own or on a Ray cluster."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from torch import Tensor

from sickbay.printable import error_message
from sickbay.repairs.data import Data
from sickbay.repairs.run import Progress, Run, Update, Weights
from sickbay.repairs.run_settings import RunSettings
from sickbay.repairs.training_loop import TrainingLoop

OnEpoch = Callable[[Run, Update], bool | None]  # returns whether to stop the run


class Worker(Protocol):
    """Trains one run, and keeps its training loop from epoch to epoch."""

    def submit(self, stop_at_findings: bool) -> Future[Any]:
        """Train one more epoch."""

    def result(self, future: Future[Any], before: Progress) -> Update:
        """Return what an epoch changed. If the worker is lost, the run has failed."""

    def close(self) -> None:
        """Stop training."""


class LocalWorker:
    """Trains one run in this process."""

    def __init__(self, make_loop: Callable[[], TrainingLoop]) -> None:
        self._loop = make_loop()

    def submit(self, stop_at_findings: bool) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(self._loop.update(stop_at_findings))
        return future

    def result(self, future: Future[Any], before: Progress) -> Update:  # noqa: ARG002
        update: Update = future.result()
        return update

    def close(self) -> None:
        self._loop.close()


class WorkerExecutor:
    """Trains up to `size` runs at a time, each in a worker of its own. None means no limit."""

    pausable = True  # whether runs can be trained a few epochs at a time

    def __init__(
        self,
        data: Data,
        settings: RunSettings,
        make_worker: Callable[[Callable[[], TrainingLoop]], Worker] = LocalWorker,
        size: int | None = 1,
        remote: bool = False,
    ) -> None:
        self._data, self._settings = data, settings
        self._make_worker, self._size, self._remote = make_worker, size, remote
        self._workers: dict[Run, Worker] = {}

    def start(self, run: Run, weights: Weights | None, chart: str | None) -> None:
        """Prepare the training of a run, from these weights if they fit its model."""
        recipe = run.recipe
        if self._remote:  # sent without what only remedies look at
            recipe = replace(recipe.on("cpu"), example=(), inputs=None, targets=None)
            weights = on_cpu(weights)
        settings = self._settings.of(run)
        loop = partial(TrainingLoop, recipe, self._data, settings, weights, chart)
        self._workers[run] = self._make_worker(loop)

    def advance(
        self, runs: Sequence[Run], epochs: int, stop_at_findings: bool, on_epoch: OnEpoch
    ) -> None:
        """Train each run for up to so many more epochs."""
        waiting, training = list(runs), dict[Future[Any], tuple[Run, int]]()

        def train(run: Run, left: int) -> None:
            training[self._workers[run].submit(stop_at_findings)] = run, left - 1

        while waiting or training:
            while waiting and (self._size is None or len(training) < self._size):
                train(waiting.pop(0), epochs)
            for future in wait(training, return_when=FIRST_COMPLETED).done:
                run, left = training.pop(future)
                update = self._workers[run].result(future, run.progress)
                stopped = on_epoch(run, update)
                if left and not (update.over or stopped):
                    train(run, left)

    def close(self, run: Run) -> None:
        """Stop the training of a run."""
        if (worker := self._workers.pop(run, None)) is not None:
            worker.close()


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
