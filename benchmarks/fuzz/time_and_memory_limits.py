"""Limits of one input: seconds, and bytes of memory."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.fuzz.verdict import TooLong

AGAIN = 1.0  # seconds after which it is said again, should somebody have caught it
HEADROOM = 2 << 30  # bytes of address space that an input may add
GROWTH = 400 << 20  # bytes of memory that an input may add before it counts as run away


@contextmanager
def seconds(limit: float) -> Iterator[None]:
    """Raise `TooLong` in what runs longer, again and again until it ends."""
    rung = False

    def ring(*_: object) -> None:
        nonlocal rung
        rung = True
        raise TooLong("it ran for too long")

    before = signal.signal(signal.SIGALRM, ring)
    allow(limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if rung:  # and was swallowed
        raise TooLong("it ran for too long")


def allow(limit: float) -> None:
    """Let so many seconds pass, from now on, before `TooLong` is raised."""
    signal.setitimer(signal.ITIMER_REAL, limit, AGAIN)


def cap_memory() -> None:
    """Let this process add some memory to what it has, and no more."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + HEADROOM, hard))


def peak() -> int:
    """Return the most bytes that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
