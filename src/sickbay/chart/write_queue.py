"""What waits to be written, and the timer that sees to it."""

from __future__ import annotations

import os
from contextlib import suppress
from io import FileIO
from pathlib import Path
from threading import RLock, Timer, current_thread, get_ident
from typing import TypeVar
from weakref import WeakSet

from sickbay.chart.block_writer import Ledger
from sickbay.chart.columns import Row
from sickbay.chart.folder import whereabouts
from sickbay.errors import UsageError

Item = TypeVar("Item")

FLUSH_SECONDS = 1.0  # what a kill can cost


class Outbox:
    """Readings and lines of events on their way to the files of a chart.

    Whoever adds to `readings` calls `post`, unless the outbox `is_timed`: then a timer that writes
    them is running. Nothing here raises: what went wrong is the `error`, and what there is to tell
    is `news`, for the next call of the loop. After an error, and after `close`, it `is_over`.
    """

    def __init__(self, path: Path, files: dict[str, FileIO]) -> None:
        self.path = path
        self.readings: list[Row] = []
        self.events: list[bytes] = []
        self.is_timed = self.is_over = self.is_silent = False
        self.error: Exception | None = None
        self.news: list[str] = []
        self._ledger = Ledger(files)
        self._lock = RLock()
        self._writer = 0  # the thread that is writing
        self._timer: Timer | None = None
        OPEN.add(self)

    def post(self) -> None:
        """See to it that what waits is written within about a second."""
        self.is_timed = True
        self._timer = Timer(FLUSH_SECONDS, self._ring)
        self._timer.daemon = True  # a process that ends does not wait for it
        self._timer.name = "sickbay chart"
        try:
            self._timer.start()
        except RuntimeError:  # no more threads, or Python is ending
            self._timer = None
            self._ring()

    def flush(self) -> None:
        """Write everything that waits."""
        with self._lock:
            if self._writer:  # this very thread is at it: what waits is not forgotten
                return
            self._writer = get_ident()
            try:
                self._write()
            except Exception as error:
                self.error, self.is_over = error, True
            finally:
                self._writer = 0
                if self.is_over:
                    self._release()

    def close(self) -> None:
        """Write everything that waits, and close the files; closing twice does no harm."""
        self.is_over = True
        if self._writer != get_ident():  # else it is done at the end of that
            self.rest()

    def rest(self) -> None:
        """Write everything that waits, and leave no thread behind."""
        timer, self._timer, self.is_timed = self._timer, None, False
        if timer is not None:
            timer.cancel()
            if timer is not current_thread():
                timer.join()
        self.flush()

    def silence(self) -> None:
        """Write nothing any more: this process is a fork, and the chart belongs to the other."""
        self.is_silent = True
        self._lock, self._timer, self._writer = RLock(), None, 0
        self.error = None
        self.news.clear()
        self._release()

    def _ring(self) -> None:
        self.is_timed = False  # first: what is added from now on needs another timer
        self.flush()

    def _write(self) -> None:
        while self._ledger.files and (self.readings or self.events):
            self._look()
            readings, events = _taken(self.readings), _taken(self.events)
            self._ledger.write(b"".join(events), readings)

    def _look(self) -> None:
        """Notice that the folder is gone or has another name."""
        place = whereabouts(self.path, self._ledger.files)
        if place is None:
            raise UsageError(f"The chart's folder {str(self.path)!r} is gone; recording stops.")
        if place != self.path:
            moved = f"is now {str(place)!r}; recording goes on there."
            self.news.append(f"The chart's folder {str(self.path)!r} {moved}")
            self.path = place

    def _release(self) -> None:
        self.is_timed, self.is_over = False, True
        self.readings.clear()
        self.events.clear()
        with suppress(OSError):
            self._ledger.release()


OPEN: WeakSet[Outbox] = WeakSet()


def _taken(waiting: list[Item]) -> list[Item]:
    """Take what there is; other threads may add to it meanwhile."""
    taken = waiting[:]
    del waiting[: len(taken)]
    return taken


def _rest_all() -> None:
    for outbox in list(OPEN):
        outbox.rest()


def _silence_all() -> None:
    for outbox in list(OPEN):
        outbox.silence()


# No thread of ours is there when a process is forked, and no lock is held.
os.register_at_fork(before=_rest_all, after_in_child=_silence_all)
