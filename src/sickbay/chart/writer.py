"""Writing a chart: rows and events wait in a queue, and a timer's thread writes them."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from io import FileIO
from pathlib import Path
from threading import RLock, Timer, current_thread, get_ident
from typing import TypeVar
from weakref import WeakSet, finalize

from sickbay.chart.files import SCHEMA, FileWriter, create_chart_folder, current_folder
from sickbay.chart.json_lines import EpochEnd, Line, Row, encode, floats
from sickbay.errors import UsageError
from sickbay.findings import Event, Finding
from sickbay.health import Health
from sickbay.vitals import STATISTICS, Setup, Table, Vitals

Item = TypeVar("Item")

FLUSH_SECONDS = 1.0  # what a kill can cost
MOST_ROWS = 1 << 13  # rows that wait, however fast they come
MOST_BYTES = 1 << 20  # bytes of tables that wait


class ChartWriter:
    """Writes a run to a folder, or to a sibling (`NAME-2`, ...) if that holds a chart already.

    `path` is the folder. Readings wait in memory for about a second before a timer writes them,
    whatever the loop does meanwhile. Findings, events and setups are written at once, together with
    everything that waits. If the disk fails or the folder is deleted, the next call raises that
    error once and the chart is closed; what was written stays readable. If the folder is renamed,
    writing goes on there and calls `notice`. In a forked process the writer does nothing.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        setup: Setup,
        notice: Callable[[str], object] = lambda _: None,
    ) -> None:
        head = {"schema": SCHEMA, "started": time.time(), "setup": vars(setup)}
        place, files = create_chart_folder(path, encode({**head, "statistics": list(STATISTICS)}))
        self._queue = WriteQueue(place, files)
        self._readings = self._queue.readings
        self._bytes = 0  # of the tables that wait, at most
        self._notice = notice
        # Many loops end without closing the writer: then this closes it, at exit at the latest.
        finalize(self, self._queue.close)

    @property
    def path(self) -> Path:
        """The folder of the chart."""
        return self._queue.path

    def append(self, vitals: Vitals) -> None:
        """Add a reading. It is encoded later, so this takes next to no time."""
        if vitals.tables:
            self._add_bytes(vitals.tables)
        self._readings.append(vitals)
        is_full = len(self._readings) >= MOST_ROWS or self._bytes >= MOST_BYTES
        if is_full or not self._queue.is_timed:
            self._schedule(now=is_full)

    def end_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Close an epoch, with the metrics measured over all of it."""
        self._readings.append(EpochEnd(epoch, floats(metrics)))
        if not self._queue.is_timed:
            self._schedule(now=len(self._readings) >= MOST_ROWS)

    def finding(self, finding: Finding) -> None:
        self._write({"type": "finding", **asdict(finding), "evidence": floats(finding.evidence)})

    def report(self, health: Health) -> None:
        self._write({"type": "report", **health.as_json()})

    def event(self, event: Event) -> None:
        self._write({"type": "event", **vars(event)})

    def setup(self, setup: Setup) -> None:
        """Replace the setup by a more complete one."""
        self._write({"type": "setup", **vars(setup)})

    def flush(self) -> None:
        """Write everything that waits."""
        self._queue.flush()
        self._bytes = 0
        self._report()

    def close(self) -> None:
        """Write everything that waits and close the files; closing twice does no harm."""
        self._queue.close()
        self._report()

    def _write(self, line: Line) -> None:
        self._queue.events.append(encode(line))
        self._schedule(now=True)

    def _schedule(self, now: bool) -> None:
        """Have what waits written, now or within about a second."""
        self._report()
        if self._queue.is_forked:
            self._queue.stop_in_fork()
        elif self._queue.is_over:
            self._queue.close()  # drops what was just added
            raise UsageError(f"The chart in {str(self.path)!r} is closed; start a new one.")
        elif now:
            self.flush()
        else:
            self._queue.start_timer()

    def _add_bytes(self, tables: Sequence[Table]) -> None:
        for table in tables:
            shape = len(table.names), len(STATISTICS)
            if table.values.shape != shape:
                raise UsageError(f"values must have the shape {shape}, got {table.values.shape}.")
            self._bytes += table.values.nbytes

    def _report(self) -> None:
        """Raise or tell what has happened since the last call."""
        error, self._queue.error = self._queue.error, None
        if error is not None:
            raise error
        while self._queue.notices:
            self._notice(self._queue.notices.pop(0))


class WriteQueue:
    """Readings and lines of events on their way to the files of a chart.

    Whoever adds to `readings` calls `start_timer`, unless the queue `is_timed`: then a timer that
    writes them is running. Nothing here raises: `error` and `notices` keep what happened for the
    next call of the loop. After an error, and after `close`, the queue `is_over`.
    """

    def __init__(self, path: Path, files: dict[str, FileIO]) -> None:
        self.path = path
        self.readings: list[Row] = []
        self.events: list[bytes] = []
        self.is_timed = self.is_over = self.is_forked = False
        self.error: Exception | None = None
        self.notices: list[str] = []
        self._files = FileWriter(files)
        self._lock = RLock()
        self._thread = 0  # the thread that is writing
        self._timer: Timer | None = None
        OPEN.add(self)

    def start_timer(self) -> None:
        """Have what waits written within about a second."""
        self.is_timed = True
        self._timer = Timer(FLUSH_SECONDS, self._run_timer)
        self._timer.daemon = True  # a process that ends does not wait for it
        self._timer.name = "sickbay chart"
        try:
            self._timer.start()
        except RuntimeError:  # no more threads, or Python is ending
            self._timer = None
            self._run_timer()

    def flush(self) -> None:
        """Write everything that waits."""
        with self._lock:
            if self._thread:  # this very thread is writing, and will write the rest too
                return
            self._thread = get_ident()
            try:
                self._write()
            except Exception as error:
                self.error, self.is_over = error, True
            finally:
                self._thread = 0
                if self.is_over:
                    self._close_files()

    def close(self) -> None:
        """Write everything that waits, and close the files; closing twice does no harm."""
        self.is_over = True
        if self._thread != get_ident():  # else `flush` closes them when it is done
            self.finish_timer()

    def finish_timer(self) -> None:
        """Write everything that waits, and leave no thread behind."""
        timer, self._timer, self.is_timed = self._timer, None, False
        if timer is not None:
            timer.cancel()
            if timer is not current_thread():
                timer.join()
        self.flush()

    def stop_in_fork(self) -> None:
        """Write nothing any more: this process is a fork, and the chart belongs to its parent."""
        self.is_forked = True
        self._lock, self._timer, self._thread = RLock(), None, 0
        self.error = None
        self.notices.clear()
        self._close_files()

    def _run_timer(self) -> None:
        self.is_timed = False  # first: whatever is added from now on needs another timer
        self.flush()

    def _write(self) -> None:
        while self._files.files and (self.readings or self.events):
            self._follow_folder()
            readings, events = _take_all(self.readings), _take_all(self.events)
            self._files.write(b"".join(events), readings)

    def _follow_folder(self) -> None:
        """Notice that the folder is gone or has another name."""
        place = current_folder(self.path, self._files.files)
        if place is None:
            raise UsageError(f"The chart's folder {str(self.path)!r} is gone; recording stops.")
        if place != self.path:
            moved = f"is now {str(place)!r}; recording goes on there."
            self.notices.append(f"The chart's folder {str(self.path)!r} {moved}")
            self.path = place

    def _close_files(self) -> None:
        self.is_timed, self.is_over = False, True
        self.readings.clear()
        self.events.clear()
        with suppress(OSError):
            self._files.close()


OPEN: WeakSet[WriteQueue] = WeakSet()


def _take_all(waiting: list[Item]) -> list[Item]:
    """Empty a list and return what was in it; other threads may add to it meanwhile."""
    taken = waiting[:]
    del waiting[: len(taken)]
    return taken


def _for_all(action: Callable[[WriteQueue], None]) -> None:
    for queue in list(OPEN):
        action(queue)


# No thread of ours runs while a process is forked, and no lock is held.
os.register_at_fork(
    before=partial(_for_all, WriteQueue.finish_timer),
    after_in_child=partial(_for_all, WriteQueue.stop_in_fork),
)
