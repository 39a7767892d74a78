"""Runs in processes of their own. A process that dies fails its run, and none outlives this one."""

import multiprocessing
import os
import pickle
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.process import BaseProcess
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sickbay.errors import UsageError
from sickbay.printable import error_message
from sickbay.repairs.executor import RemoteLoop
from sickbay.repairs.run import Progress, Update
from sickbay.repairs.training_loop import TrainingLoop

PATIENCE = 5.0  # seconds that a process gets to exit by itself


class ProcessWorker:
    """A training loop in a pool of one process, which keeps it from epoch to epoch.

    Optimizer, hooks and random numbers of a run stay in that process. Runs share no pool, since
    one process that dies breaks the whole pool.
    """

    def __init__(self, threads: int, make_loop: Callable[[], TrainingLoop]) -> None:
        method = multiprocessing.get_start_method(allow_none=True)
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(1, context, _prepare, (make_loop, threads, method))
        self._process: BaseProcess | None = None
        self._began: Future[int] = Future()
        self._epoch: Future[bytes] = Future()

    def submit(self, stop_at_findings: bool) -> Future[Any]:
        try:
            if self._process is None:
                with _interrupts_blocked():
                    self._began = self._pool.submit(os.getpid)
                (self._process,) = self._pool._processes.values()  # no public way to its exit code
            self._epoch = self._pool.submit(_train_epoch, stop_at_findings)
        except Exception as error:  # from pickling, or because the process has died meanwhile
            self._epoch = Future()
            self._epoch.set_exception(error)
        return self._epoch

    def result(self, future: Future[Any], before: Progress) -> Update:
        try:
            update: Update = pickle.loads(future.result())
        except Exception as error:
            return Update(replace(before, failed=self._failure(error)), over=True)
        return update

    def _failure(self, error: Exception) -> str:
        if self._process is None:
            return f"it cannot be sent to a worker process: {error_message(error)}"
        if not isinstance(error, BrokenExecutor):
            return error_message(error)
        deadline = time.monotonic() + PATIENCE
        while (code := self._process.exitcode) is None and time.monotonic() < deadline:
            time.sleep(0.01)  # the pool may be waiting for the same process, so join can miss it
        if self._began.exception() is not None:
            return (
                f"its worker process ended while starting (exit code {code}). A script that uses "
                "workers must start under `if __name__ == '__main__':`."
            )
        if code is None or code >= 0:
            return f"its worker process exited by itself (exit code {code})."
        hint = ", as happens when memory runs out" if -code == signal.SIGKILL else ""
        return f"its worker process was killed by {signal.Signals(-code).name}{hint}."

    def close(self) -> None:
        idle = self._epoch.done()
        if idle and self._process is not None:
            with suppress(Exception):  # the process may be gone
                self._pool.submit(_close)  # completes the chart
        self._pool.shutdown(wait=False)
        if self._process is not None:
            if idle:
                self._process.join(PATIENCE)
            self._process.terminate()
            self._process.join(PATIENCE)
            self._process.kill()
            self._process.join()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Make a process that starts here deaf to Ctrl-C, also while it still imports modules."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_loop: RemoteLoop  # of this worker process


def _prepare(make_loop: Callable[[], TrainingLoop], threads: int, method: str | None) -> None:
    multiprocessing.set_start_method(method, force=True)  # for DataLoaders, as in the main process
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process ends it
    signal.signal(signal.SIGTERM, _exit)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    global _loop
    _loop = RemoteLoop(make_loop)


def _train_epoch(stop_at_findings: bool) -> bytes:
    """Return an `Update` by value: what lies in shared memory dies with its process."""
    try:
        return pickle.dumps(_loop.train_epoch(stop_at_findings))
    except Exception:
        raise
    except BaseException as error:  # the main process would raise it, and end
        how = f"was stopped by {type(error).__name__}"
        if isinstance(error, SystemExit):
            how = f"exited by itself (exit code {error.code})"
        raise RuntimeError(f"its worker process {how}.") from None


def _close() -> None:
    _loop.close()


def _exit(*_: object) -> None:
    for child in multiprocessing.active_children():  # of a DataLoader
        child.terminate()
    os._exit(1)


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os._exit(1)


def check_picklable(**parts: Any) -> None:
    """Raise `UsageError` if one of these cannot be sent to a new process."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise UsageError(
            "workers= runs this script again in each worker process: put what must not run there "
            "under `if __name__ == '__main__':`, or use workers=1."
        )
    for name, part in parts.items():
        try:
            DryPickler(SimpleNamespace(write=lambda _: None)).dump(part)
        except Exception as error:  # pickling runs the user's code
            reason = re.sub(" at 0x[0-9a-f]+", "", error_message(error).rstrip("."))
            raise UsageError(
                f"{name} cannot be sent to worker processes ({reason}); "
                "define it at the top level of a file, or use workers=1."
            ) from error


class DryPickler(pickle.Pickler):
    """Pickles to find out whether it works. Skips what is large and can always be pickled."""

    def persistent_id(self, value: Any) -> Any:
        """Return an id for values to skip, None for the others."""
        typed_in = not hasattr(sys.modules["__main__"], "__file__")  # a session without a file
        in_main = isinstance(value, type | FunctionType) and value.__module__ == "__main__"
        if typed_in and in_main:
            raise pickle.PicklingError(f"{value.__name__} is not defined in a file")
        if isinstance(value, np.ndarray):
            return None if value.dtype.hasobject else "array"
        shared = type(value).__module__.startswith("multiprocessing.")
        return "skipped" if shared or isinstance(value, Tensor) else None
