"""Reading a chart."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from sickbay.arguments import check_int, check_path
from sickbay.chart.files import HEAD, SCHEMA
from sickbay.chart.json_lines import Names
from sickbay.chart.stored_run import Damage, StoredRun, describe_damage, read_events
from sickbay.errors import UsageError
from sickbay.findings import Event, Finding
from sickbay.health import Health
from sickbay.history import History
from sickbay.json_dataclasses import dataclass_from_json, json_object
from sickbay.safe_files import parse_json, read_error, read_file
from sickbay.vitals import COLUMN, Setup

MOST_HEAD = 1 << 26  # bytes of the head
MOST_VALUES = 1 << 26  # of scalars that are held at once; each takes about a hundred bytes


@dataclass(frozen=True, kw_only=True)
class Head:
    """The contents of `chart.json`."""

    schema: int
    started: float
    setup: Setup
    statistics: Names


class Chart:
    """A run that was, or is being, written to a folder; every call reads the files again.

    `path` is the folder. An incomplete record, because it is still being written or its process was
    killed, counts as the end of its file. Damaged parts are left out and reported by `damage`.
    Reading never writes.

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
        self._damage: Damage = {}

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Chart:
        """Open the chart in a folder; `UsageError` if it has none, or one from a newer sickbay."""
        place = check_path("chart", path)
        if not os.path.lexists(place / HEAD):
            found = place.glob(f"*/{HEAD}") if os.path.isdir(place) else ()
            near = sorted(str(head.parent) for head in found)
            hint = f"there is one in {near[0]!r}" if near else f"a chart is a folder with {HEAD}"
            raise UsageError(f"There is no chart in {str(place)!r}; {hint}.")
        return cls(place, _read_head(place / HEAD))

    @property
    def damage(self) -> list[str]:
        """What was left out of everything read so far, a sentence for each damaged file."""
        return describe_damage(self._damage)

    @property
    def setup(self) -> Setup:
        """The newest setup."""
        return [self._head.setup, *read_events(self.path, self._damage).setups][-1]

    @property
    def started(self) -> float:
        """When the run began, in seconds since 1970."""
        return self._head.started

    def findings(self) -> list[Finding]:
        """Return every finding, oldest first."""
        return read_events(self.path, self._damage).findings

    def events(self) -> list[Event]:
        """Return every event, oldest first."""
        return read_events(self.path, self._damage).events

    def reports(self) -> list[Health]:
        """Return every report of how the run was doing, oldest first."""
        return read_events(self.path, self._damage).reports

    def history(self, window: int | None = None) -> History:
        """Return the whole run, or the newest `window` values of each scalar and table kind.

        With a window, only the end of a long run is unpacked.
        """
        size = sys.maxsize if window is None else _check_size("window", window)
        run = self._run()
        values = run.count_values(size)
        if values > MOST_VALUES:
            most = f"at most {MOST_VALUES:,} are read at once; give a smaller window"
            raise UsageError(f"The chart in {str(self.path)!r} has {values:,} values, {most}.")
        history = History(self.setup, window=size, tables=size)
        for _ in run.add_to(history, window):
            pass
        return history

    def replay(self, window: int = 512, tables: int = 32) -> Iterator[History]:
        """Replay the run: yield its history after each reading and after each end of an epoch.

        It is always the same history, which grows as it did in the loop and keeps the newest
        `window` values of a scalar and `tables` tables of a kind. Its setup is the newest one from
        the start.
        """
        return self._replay(_check_size("window", window), _check_size("tables", tables))

    def epochs(self) -> Iterator[tuple[History, float]]:
        """Replay the run epoch by epoch: yield its history after each, and its seconds.

        An epoch lasts from the last reading before it, or the start, to its own last reading.
        """
        before = now = self.started
        history = History(self.setup)
        for time, is_over in self._run().add_to(history):
            now = time if time is not None and isfinite(time) else now
            if is_over:
                yield history, now - before
                before = now

    def _replay(self, window: int, tables: int) -> Iterator[History]:  # reads when it is iterated
        yield from self._run().add_by_row(History(self.setup, window=window, tables=tables))

    def _run(self) -> StoredRun:
        return StoredRun(self.path, self._head.statistics, self._head.schema, self._damage)


def _check_size(name: str, value: object) -> int:
    return check_int(name, value, least=1, most=sys.maxsize)


def _read_head(path: Path) -> Head:
    """Return the head of a chart; a `UsageError` that names the file if it is damaged or newer."""
    values = parse_json(read_file(path, MOST_HEAD), path)
    try:
        schema = check_int("schema", json_object("head", values).get("schema"), least=1)
        if schema > SCHEMA:
            newer = "get a newer one with: pip install --upgrade sickbay"
            reads = f"this sickbay reads up to {SCHEMA}"
            raise UsageError(f"it has schema {schema}, {reads}; {newer}")
        head = dataclass_from_json(Head, values)
        if not isfinite(head.started):
            raise UsageError(f"started must be finite, got {head.started}")
        if not COLUMN.keys() & set(head.statistics):
            raise UsageError("statistics must name columns of tables")
    except UsageError as error:
        raise read_error(path, str(error).rstrip(".")) from None
    return head
