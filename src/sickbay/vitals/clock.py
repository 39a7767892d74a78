"""What each part of the watching costs, in seconds."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Clock:
    """Adds up the time spent on each thing since it was last asked."""

    def __init__(self) -> None:
        self._spent: dict[str, float] = defaultdict(float)

    def add(self, what: str, since: float) -> None:
        """Charge the time from `since` (of `perf_counter`) until now."""
        self._spent[what] += perf_counter() - since

    @contextmanager
    def timing(self, what: str) -> Iterator[None]:
        """Charge the time spent inside; for work that is not on every step's path."""
        start = perf_counter()
        try:
            yield
        finally:
            self.add(what, start)

    def read(self) -> dict[str, float]:
        """Return what was spent since the last call."""
        spent = dict(self._spent)
        self._spent.clear()
        return spent
