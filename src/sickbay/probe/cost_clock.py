"""What each part of the watching costs, in seconds."""

from collections import defaultdict
from collections.abc import Callable
from time import perf_counter
from types import TracebackType


class Clock:
    """Adds up the time spent on each thing since it was last asked.

    Time that another process has taken from us is no cost of ours, so larger pieces of work can be
    timed by the processor's clock (`time.thread_time`); small ones cannot, it is too slow for that.
    """

    def __init__(self, timer: Callable[[], float] = perf_counter) -> None:
        self.timer = timer
        self.total = 0.0  # everything that was ever charged
        self._spent: dict[str, float] = defaultdict(float)

    def add(self, what: str, seconds: float) -> None:
        """Charge some time."""
        self._spent[what] += seconds
        self.total += seconds

    def timing(self, what: str) -> "Timing":
        """Charge the time spent inside a `with`."""
        return Timing(self, what)

    def read(self) -> dict[str, float]:
        """Return what was spent since the last call."""
        spent = dict(self._spent)
        self._spent.clear()
        return spent


class Timing:
    """Charges the time between entering and leaving."""

    __slots__ = ("_clock", "_start", "_what")

    def __init__(self, clock: Clock, what: str) -> None:
        self._clock, self._what = clock, what

    def __enter__(self) -> None:
        self._start = self._clock.timer()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._clock.add(self._what, self._clock.timer() - self._start)
