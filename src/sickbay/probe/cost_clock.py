"""How many seconds each part of sickbay takes."""

from collections import defaultdict
from collections.abc import Callable
from time import perf_counter


class Clock:
    """Adds up the seconds that each part takes, until the governor reads them.

    Larger pieces of work can be timed by the processor's clock (`time.thread_time`), which leaves
    out the time that other processes take. It is too slow for small ones.

    Attributes:
        total: All seconds ever added by this thread.
        passing: Seconds of steps that passed without a reading, a plain float for speed.
    """

    def __init__(self, timer: Callable[[], float] = perf_counter) -> None:
        self.timer = timer
        self.total = self.passing = 0.0
        self._spent: dict[str, float] = defaultdict(float)

    def add(self, what: str, seconds: float) -> None:
        """Add seconds spent by this thread."""
        self._spent[what] += seconds
        self.total += seconds

    def add_rest(self, what: str, start: float, total: float) -> None:
        """Add the time since `start`, except what other parts added since `total` was read."""
        self.add(what, perf_counter() - start - (self.total - total))

    def add_elsewhere(self, what: str, seconds: float) -> None:
        """Add seconds spent on a GPU or by another thread."""
        self._spent[what] += seconds

    def timing(self, what: str) -> "Timing":
        """Add the time spent inside a `with` block."""
        return Timing(self, what)

    def read(self) -> dict[str, float]:
        """Return the seconds spent since the last call."""
        spent = {**self._spent, "passing": self.passing}
        self._spent.clear()
        self.passing = 0.0
        return spent


class Timing:
    """Adds the time between entering and leaving to a clock."""

    __slots__ = ("_clock", "_start", "_what")

    def __init__(self, clock: Clock, what: str) -> None:
        self._clock, self._what = clock, what

    def __enter__(self) -> None:
        self._start = self._clock.timer()

    def __exit__(self, *_: object) -> None:
        self._clock.add(self._what, self._clock.timer() - self._start)
