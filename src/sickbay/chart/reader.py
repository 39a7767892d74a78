"""Reading a chart."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from sickbay.arguments import check_int, check_path
from sickbay.chart.file_contents import Contents
from sickbay.chart.format import HEAD, SCHEMA, Names
from sickbay.chart.replay_run import Run
from sickbay.errors import UsageError
from sickbay.findings import Event, Finding
from sickbay.history import History
from sickbay.json_dataclasses import dataclass_from_json, json_object
from sickbay.safe_files import parse_json, read_error, read_file
from sickbay.vitals import COLUMN, Setup

MOST_HEAD = 1 << 26  # bytes of the head
MOST_VALUES = 1 << 26  # of scalars that are held at once; each takes about a hundred bytes


@dataclass(frozen=True, kw_only=True)
class Head:
    """What `chart.json` holds."""

    schema: int
    started: float
    setup: Setup
    statistics: Names


class Chart:
    """A run that was written to a folder, or is being written; every call reads it anew.

    `path` is the folder it is in. A record that is torn, by a kill or because it is just being
    written, ends its file. What is damaged is left out, and `damage` says so. Reading never writes.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from sickbay.chart import ChartWriter
        >>> from sickbay.vitals import Vitals
        >>> with TemporaryDirectory() as folder:
        ...     writer = ChartWriter(folder, Setup(optimizer="SGD"))
        ...     writer.append(Vitals(step=0, scalars={"loss": 2.3}))
        ...     writer.append(Vitals(step=1, scalars={"loss": float("nan")}))
        ...     writer.close()
        ...     chart = Chart.open(folder)
        ...     print(chart.setup.optimizer, chart.history().recent("loss", 2))
        SGD [2.3, nan]
    """

    def __init__(self, path: Path, head: Head) -> None:
        self.path = path
        self._head = head
        self._contents = Contents(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Chart:
        """Open the chart in a folder; a `UsageError` if it has none, or one of a newer sickbay."""
        place = check_path("chart", path)
        if not os.path.lexists(place / HEAD):
            found = place.glob(f"*/{HEAD}") if os.path.isdir(place) else ()
            near = sorted(str(head.parent) for head in found)
            hint = f"there is one in {near[0]!r}" if near else f"a chart is a folder with {HEAD}"
            raise UsageError(f"There is no chart in {str(place)!r}; {hint}.")
        return cls(place, _head(place / HEAD))

    @property
    def damage(self) -> list[str]:
        """What was left out of what was read so far, a sentence for each file that is damaged."""
        return list(self._contents.damage.values())

    @property
    def setup(self) -> Setup:
        """The newest setup."""
        return [self._head.setup, *self._contents.events().setups][-1]

    @property
    def started(self) -> float:
        """When it was begun, in seconds since 1970."""
        return self._head.started

    def findings(self) -> list[Finding]:
        """Return every finding, oldest first."""
        return self._contents.events().findings

    def events(self) -> list[Event]:
        """Return every event, oldest first."""
        return self._contents.events().events

    def history(self, window: int | None = None) -> History:
        """Return all that was read so far, or the newest `window` of each scalar and table kind.

        With a window, only the end of a long run is looked into.
        """
        size = (
            sys.maxsize
            if window is None
            else check_int("window", window, least=1, most=sys.maxsize)
        )
        run = self._run()
        values = run.values(size)
        if values > MOST_VALUES:
            most = f"at most {MOST_VALUES:,} are read at once; give a smaller window"
            raise UsageError(f"The chart in {str(self.path)!r} has {values:,} values, {most}.")
        history = History(self.setup, window=size, tables=size)
        for _ in run.play(history, window):
            pass
        return history

    def replay(self, window: int = 512, tables: int = 32) -> Iterator[History]:
        """Let the run happen again: its history after each reading, and after each end of an epoch.

        It is one history that grows, as it grew in the loop, with the newest `window` values of a
        scalar and `tables` tables of a kind; only the setup is the newest one from the start.

        >>> from tempfile import TemporaryDirectory
        >>> from sickbay.chart import ChartWriter
        >>> from sickbay.vitals import Vitals
        >>> with TemporaryDirectory() as folder:
        ...     writer = ChartWriter(folder, Setup())
        ...     for step, loss in enumerate([3.0, 2.0]):
        ...         writer.append(Vitals(step=step, scalars={"loss": loss}))
        ...     writer.end_epoch(0, {"val_loss": 2.5})
        ...     writer.close()
        ...     for history in Chart.open(folder).replay():
        ...         print(history.step, history.latest("loss"), history.epochs("loss"))
        0 3.0 []
        1 2.0 []
        1 2.0 [2.5]
        """
        sizes = [
            check_int(name, size, least=1, most=sys.maxsize)
            for name, size in (("window", window), ("tables", tables))
        ]
        return self._replay(*sizes)

    def epochs(self) -> Iterator[tuple[History, float]]:
        """Let the run happen again, epoch by epoch: its history after each, and its seconds.

        An epoch lasts from the last reading before it, or the start, to its own last reading.
        """
        before = now = self.started
        history = History(self.setup)
        for time, is_over in self._run().play(history):
            now = time if time is not None and isfinite(time) else now
            if is_over:
                yield history, now - before
                before = now

    def _replay(self, window: int, tables: int) -> Iterator[History]:
        run = self._run()
        history = History(self.setup, window=window, tables=tables)
        for _ in run.play(history, by_row=True):
            yield history

    def _run(self) -> Run:
        return Run(self._contents, self._head.statistics, self._head.schema)


def _head(path: Path) -> Head:
    """Return the head of a chart; a `UsageError` that names it if it is none, or a newer one."""
    told = parse_json(read_file(path, MOST_HEAD), path)
    try:
        schema = check_int("schema", json_object("head", told).get("schema"), least=1)
        if schema > SCHEMA:
            newer = "get a newer one with: pip install --upgrade sickbay"
            reads = f"this sickbay reads up to {SCHEMA}"
            raise UsageError(f"it has schema {schema}, {reads}; {newer}")
        head = dataclass_from_json(Head, told)
        if not isfinite(head.started):
            raise UsageError(f"started must be finite, got {head.started}")
        if not COLUMN.keys() & set(head.statistics):
            raise UsageError("statistics must name columns of tables")
    except UsageError as error:
        raise read_error(path, str(error).rstrip(".")) from None
    return head
