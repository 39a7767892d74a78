"""Limits of time and memory for one input."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.fuzz.verdict import TooLong

AGAIN = 1.0  # seconds until `TooLong` is raised again, in case somebody caught it
HEADROOM = 2 << 30  # bytes of address space an input may add
GROWTH = 400 << 20  # bytes of memory an input may add before it counts as a failure


@contextmanager
def seconds(limit: float) -> Iterator[None]:
    """Raise `TooLong` repeatedly in a `with` block that runs longer than `limit` seconds."""
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
    if rung:  # and somebody caught it
        raise TooLong("it ran for too long")


def allow(limit: float) -> None:
    """Raise `TooLong` after `limit` seconds from now on."""
    signal.setitimer(signal.ITIMER_REAL, limit, AGAIN)


def cap_memory() -> None:
    """Limit how much more memory this process can use."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + HEADROOM, hard))


def peak() -> int:
    """Return the peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
