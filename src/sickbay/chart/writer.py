"""Writing a chart."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from weakref import finalize

from sickbay.chart.columns import EpochEnd
from sickbay.chart.folder import claim
from sickbay.chart.format import SCHEMA, Line, encode, floats
from sickbay.chart.write_queue import Outbox
from sickbay.errors import UsageError
from sickbay.findings import Event, Finding
from sickbay.vitals import STATISTICS, Setup, Table, Vitals

MOST_ROWS = 1 << 13  # that wait, however fast readings come
MOST_BYTES = 1 << 20  # of tables that wait


class ChartWriter:
    """Writes a run to a folder, or to a sibling (`NAME-2`, ...) if that holds a chart already.

    `path` is the folder. Readings wait in memory for about a second, then a timer writes them,
    whatever the loop does meanwhile. Findings, events and setups go out at once and take along what
    waits. If the disk fails or the folder is deleted, the next call raises that, once, and the
    chart is closed; what was written stays readable. If the folder is renamed, writing goes on
    there, and `notice` is told so. In a forked process it does nothing.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        setup: Setup,
        notice: Callable[[str], object] = lambda _: None,
    ) -> None:
        head = {"schema": SCHEMA, "started": time.time(), "setup": vars(setup)}
        place, files = claim(path, encode({**head, "statistics": list(STATISTICS)}))
        self._outbox = Outbox(place, files)
        self._readings = self._outbox.readings
        self._bytes = 0  # of the tables that wait, at most
        self._notice = notice
        # Many a loop ends without closing: then this is done when the writer, or Python, goes.
        finalize(self, self._outbox.close)

    @property
    def path(self) -> Path:
        """The folder that the chart is in."""
        return self._outbox.path

    def append(self, vitals: Vitals) -> None:
        """Add a reading; it is encoded later, so a reading without tables takes next to no time."""
        if vitals.tables:
            self._weigh(vitals.tables)
        self._readings.append(vitals)
        waits_long = len(self._readings) >= MOST_ROWS or self._bytes >= MOST_BYTES
        if waits_long or not self._outbox.is_timed:
            self._attend()

    def end_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Close an epoch, with what was measured over all of it."""
        self._readings.append(EpochEnd(epoch, floats(metrics)))
        if not self._outbox.is_timed:
            self._attend()

    def finding(self, finding: Finding) -> None:
        self._tell({"type": "finding", **vars(finding), "evidence": floats(finding.evidence)})

    def event(self, event: Event) -> None:
        self._tell({"type": "event", **vars(event)})

    def setup(self, setup: Setup) -> None:
        """Put a better known setup in the place of the one before."""
        self._tell({"type": "setup", **vars(setup)})

    def flush(self) -> None:
        """Write out everything that waits."""
        self._outbox.flush()
        self._bytes = 0
        self._report()

    def close(self) -> None:
        """Write out everything that waits and close the files; closing twice does no harm."""
        self._outbox.close()
        self._report()

    def _tell(self, line: Line) -> None:
        self._outbox.events.append(encode(line))
        self._attend(now=True)

    def _attend(self, now: bool = False) -> None:
        """See to it that what waits is written, now or soon."""
        self._report()
        outbox = self._outbox
        if outbox.is_silent:
            outbox.silence()
        elif outbox.is_over:
            outbox.close()  # what was just added waits for nothing
            raise UsageError(f"The chart in {str(self.path)!r} is closed; start a new one.")
        elif now or self._bytes >= MOST_BYTES or len(self._readings) >= MOST_ROWS:
            self.flush()
        else:
            outbox.post()

    def _weigh(self, tables: Sequence[Table]) -> None:
        for table in tables:
            shape = len(table.names), len(STATISTICS)
            if table.values.shape != shape:
                raise UsageError(f"values must have the shape {shape}, got {table.values.shape}.")
            self._bytes += table.values.nbytes

    def _report(self) -> None:
        """Say what has happened since the last call."""
        outbox = self._outbox
        error, outbox.error = outbox.error, None
        if error is not None:
            raise error
        while outbox.news:
            self._notice(outbox.news.pop(0))
