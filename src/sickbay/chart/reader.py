"""Reading a chart."""

import io
import json
import os
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

import numpy as np

from sickbay.chart.format import (
    EVENTS,
    HEAD,
    HEADER,
    KIND_OF,
    MAGIC,
    SCALARS,
    SCHEMA,
    TABLES,
    Line,
    Names,
    folder_of,
    from_json,
)
from sickbay.errors import UsageError
from sickbay.findings import Event, Finding
from sickbay.history import History
from sickbay.readings import COLUMN, STATISTICS, Setup, Table, Vitals


class Chart:
    """A run that was written to a folder, or is being written; every call reads it anew.

    `path` is the folder it is in. A record that is torn, by a kill or because it is just being
    written, ends its file. Reading never writes.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from sickbay.chart import ChartWriter
        >>> with TemporaryDirectory() as folder:
        ...     writer = ChartWriter(folder, Setup(optimizer="SGD"))
        ...     writer.append(Vitals(step=0, scalars={"loss": 2.3}))
        ...     writer.append(Vitals(step=1, scalars={"loss": float("nan")}))
        ...     writer.close()
        ...     chart = Chart.open(folder)
        ...     print(chart.setup.optimizer, chart.history().recent("loss", 2))
        SGD [2.3, nan]
    """

    def __init__(self, path: Path, head: Line) -> None:
        self.path = path
        self._head = head

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Chart":
        """Open the chart in a folder; a `UsageError` if it has none, or one of a newer sickbay."""
        folder = folder_of(path)
        try:
            head = json.loads((folder / HEAD).read_bytes())
            schema = int(head["schema"])
        except (OSError, ValueError, KeyError, TypeError):
            found = folder.glob(f"*/{HEAD}") if os.path.isdir(folder) else ()
            near = sorted(str(head.parent) for head in found)
            hint = f"there is one in {near[0]!r}" if near else f"a chart is a folder with {HEAD}"
            raise UsageError(f"There is no chart in {str(folder)!r}; {hint}.") from None
        if schema > SCHEMA:
            raise UsageError(
                f"The chart in {str(folder)!r} has schema {schema}, this sickbay reads up to "
                f"{SCHEMA}; get a newer one with: pip install --upgrade sickbay"
            )
        return cls(folder, head)

    @property
    def setup(self) -> Setup:
        """The newest setup."""
        return Setup.of([self._head["setup"], *self._entries("setup")][-1])

    @property
    def started(self) -> float:
        """When it was begun, in seconds since 1970."""
        return float(self._head["started"])

    def findings(self) -> list[Finding]:
        """Return every finding, oldest first."""
        lines = self._entries("finding")
        for line in lines:
            for key in ("layers", "consequences"):
                line[key] = tuple(line.get(key, ()))
            line["evidence"] = from_json(line["evidence"])
        return [Finding(**line) for line in lines]

    def events(self) -> list[Event]:
        """Return every event, oldest first."""
        return [Event(**line) for line in self._entries("event")]

    def history(self, window: int | None = None) -> History:
        """Return all that was read so far, or the newest `window` of each scalar and table kind."""
        if window is not None and window < 1:
            raise UsageError(f"window must be at least 1, or None for all, got {window!r}.")
        size = window or sys.maxsize
        return deque(self._grow(size, size), maxlen=1)[0][0]

    def replay(self, window: int = 512, tables: int = 32) -> Iterator[History]:
        """Let the run happen again: its history after each reading, and after each end of an epoch.

        It is one history that grows, as it grew in the loop, with the newest `window` values of a
        scalar and `tables` tables of a kind; only the setup is the newest one from the start.

        >>> from tempfile import TemporaryDirectory
        >>> from sickbay.chart import ChartWriter
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
        for name, size in (("window", window), ("tables", tables)):
            if size < 1:
                raise UsageError(f"{name} must be at least 1, got {size!r}.")
        return (history for history, _ in islice(self._grow(window, tables), 1, None))

    def epochs(self) -> Iterator[tuple[History, float]]:
        """Let the run happen again, epoch by epoch: its history after each, and its seconds.

        An epoch lasts from the last reading before it, or the start, to its own last reading.
        """
        before = now = self.started
        for history, line in self._grow(512, 32):
            now = line.get("time", now)
            if "epoch_end" in line:
                yield history, now - before
                before = now

    def _grow(self, window: int, tables: int) -> Iterator[tuple[History, Line]]:
        """Yield the one history before its first reading and after each, with what was read."""
        # Read in the reverse order of writing, so that no step lacks its tables.
        lines, records = self._read(SCALARS), self._read(TABLES)
        names = [tuple(line["names"]) for line in self._entries("rows")]
        stored = _tables(io.BytesIO(records), names, self._head["statistics"])
        history = History(self.setup, window=window, tables=tables)
        yield history, {}
        for line in _lines(lines):
            if "epoch_end" in line:
                history.end_epoch(**from_json(line["metrics"]))
            else:
                taken = tuple(islice(stored, line["tables"]))
                line.update(scalars=from_json(line["scalars"]), tables=taken)
                history.append(Vitals(**line))
            yield history, line

    def _entries(self, kind: str) -> list[Line]:
        return [line for line in _lines(self._read(EVENTS)) if line.pop("type", "") == kind]

    def _read(self, name: str) -> bytes:
        path = self.path / name
        return path.read_bytes() if path.exists() else b""


def _lines(data: bytes) -> Iterator[Line]:
    """Decode lines one by one, up to the first that is not whole."""
    with suppress(ValueError, TypeError):
        for line in io.BytesIO(data):
            yield dict(json.loads(line))


def _tables(file: BinaryIO, names: list[Names], statistics: list[str]) -> Iterator[Table]:
    """Decode tables one by one, up to the first that is not whole."""
    known = [index for index, name in enumerate(statistics) if name in COLUMN]
    columns = [COLUMN[statistics[index]] for index in known]
    while len(header := file.read(HEADER.size)) == HEADER.size:
        magic, code, step, _, number, rows, size, checksum = HEADER.unpack(header)
        data, kind = file.read(size), KIND_OF.get(code)
        whole = (magic, checksum) == (MAGIC, crc32(data, crc32(header[:-4])))
        if not whole or kind is None or number >= len(names):
            return
        values = np.full((rows, len(STATISTICS)), np.nan)
        values[:, columns] = np.frombuffer(data, "<f4").reshape(rows, len(statistics))[:, known]
        yield Table(kind, step, names[number], values)
