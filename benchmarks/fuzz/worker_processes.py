"""Run inputs in worker processes. One that hangs or dies fails only its current input."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic
from typing import Any

from benchmarks.fuzz.fuzz_input import SLOW
from benchmarks.fuzz.run_inputs import serve
from benchmarks.fuzz.verdict import Verdict

CHUNK = 100
PATIENCE = SLOW + 60  # seconds of silence after which a worker counts as hung
SPAWN = get_context("spawn")


@dataclass
class Worker:
    """A worker process and its current inputs."""

    seed: int
    only: str | None
    home: Path
    line: Connection = field(init=False)
    process: Any = field(init=False)
    current: Any = field(init=False)
    span: tuple[int, int] | None = None
    heard: float = 0.0

    def start(self) -> None:
        self.line, theirs = SPAWN.Pipe()
        self.current = SPAWN.Value("q", -1)
        args = (theirs, self.current, self.seed, self.only, str(self.home))
        self.process = SPAWN.Process(target=serve, args=args, daemon=True)
        self.process.start()
        theirs.close()
        self.heard = monotonic()

    def give(self, span: tuple[int, int] | None) -> None:
        self.span = span
        self.current.value = -1
        self.line.send(span)
        self.heard = monotonic()

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.line.close()


def run(seed: int, inputs: int, only: str | None, workers: int) -> Iterator[Verdict]:
    """Yield the verdict of each input, in any order."""
    shared = Path("/dev/shm")
    home = Path(mkdtemp(prefix="sickbay-fuzz-", dir=shared if shared.is_dir() else None))
    spans = [(at, min(inputs, at + CHUNK)) for at in range(0, inputs, CHUNK)][::-1]
    pool = [Worker(seed, only, home / f"worker-{number}") for number in range(workers)]
    try:
        for each in pool:
            each.start()
            each.give(spans.pop() if spans else None)
        while any(each.span for each in pool):
            ready = wait([each.line for each in pool if each.span], timeout=5)
            for each in pool:
                if each.span and (each.line in ready or monotonic() - each.heard > PATIENCE):
                    yield from attend(each, spans, each.line in ready)
    finally:
        for each in pool:
            each.stop()
        shutil.rmtree(home, ignore_errors=True)


def attend(worker: Worker, spans: list[tuple[int, int]], ready: bool) -> Iterator[Verdict]:
    """Receive a verdict from a worker, or replace a worker that hangs or died."""
    assert worker.span is not None
    try:
        if not ready:
            raise TimeoutError
        said = worker.line.recv()
    except (EOFError, OSError, TimeoutError) as error:
        at = max(worker.current.value, worker.span[0])
        happened = "Hung" if isinstance(error, TimeoutError) else "Died"
        yield Verdict(at, "", "failure", happened, "", f"exit code {worker.process.exitcode}")
        rest = (at + 1, worker.span[1])
        worker.stop()
        shutil.rmtree(worker.home, ignore_errors=True)
        worker.start()
        worker.give(rest if rest[0] < rest[1] else (spans.pop() if spans else None))
        return
    worker.heard = monotonic()
    if said is None:
        worker.give(spans.pop() if spans else None)
    else:
        yield said
