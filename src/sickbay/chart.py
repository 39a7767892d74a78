"""The run on disk: a folder of append-only files that survive a kill and can be read meanwhile.

chart.json      schema, start time, first setup and column names; written once, and last
scalars.jsonl   a line per step and per end of an epoch
events.jsonl    a line per finding, event, newer setup and list of row names
tables.bin      a record per table: header with a checksum, then float32 values

JSON has no NaN and no infinity: they are the strings "nan", "inf" and "-inf".
"""

import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from itertools import count, islice
from math import isfinite
from pathlib import Path
from struct import Struct
from typing import Any, BinaryIO, TypeAlias
from weakref import finalize
from zlib import crc32

import numpy as np

from sickbay.errors import UsageError
from sickbay.findings import Event, Finding
from sickbay.history import History
from sickbay.readings import COLUMN, KINDS, STATISTICS, Kind, Setup, Table, Vitals

SCHEMA = 1
FLUSH_SECONDS = 1.0  # what a kill can cost
FLUSH_BYTES = 1 << 20  # keeps the buffer small however fast readings come
HEAD, EVENTS, TABLES, SCALARS = "chart.json", "events.jsonl", "tables.bin", "scalars.jsonl"
# Flushed in this order: a table finds its row names on disk, and a step its tables.
STREAMS = (EVENTS, TABLES, SCALARS)
MAGIC = b"SBT1"
# magic, kind, step, epoch, id of the row names, rows, bytes of values, checksum of all the others
HEADER = Struct("<4s16sqqIIII")
KIND_OF: dict[bytes, Kind] = {kind.encode().ljust(16, b"\0"): kind for kind in KINDS}

Names: TypeAlias = tuple[str, ...]
Line: TypeAlias = dict[str, Any]
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=dict).encode


class ChartWriter:
    """Writes a run to a folder, or to a sibling (`NAME-2`, ...) if that holds a chart already.

    `path` is the folder it got. Readings wait in memory for about a second; findings, events and
    setups go out at once and take along what waits. If the disk fails, the `OSError` is raised
    once and the chart is closed; what was written stays readable.
    """

    def __init__(self, path: str | os.PathLike[str], setup: Setup) -> None:
        head = {"schema": SCHEMA, "started": time.time(), "setup": vars(setup)}
        self.path, self._files = _claim(path, _line({**head, "statistics": list(STATISTICS)}))
        self._buffers = {name: bytearray() for name in STREAMS}
        self._ids: dict[Names, int] = {}
        self._flushed = time.monotonic()
        # Many a loop ends without closing: then this is done when the writer, or Python, goes.
        finalize(self, _write_out, self._files, self._buffers)

    def append(self, vitals: Vitals) -> None:
        records = [self._record(table, vitals.epoch) for table in vitals.tables]
        line = {**vars(vitals), "scalars": _numbers(vitals.scalars), "tables": len(records)}
        self._add((TABLES, b"".join(records)), (SCALARS, _line(line)))

    def end_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Close an epoch, with what was measured over all of it."""
        self._add((SCALARS, _line({"epoch_end": epoch, "metrics": _numbers(metrics)})))

    def finding(self, finding: Finding) -> None:
        line = {"type": "finding", **vars(finding), "evidence": _numbers(finding.evidence)}
        self._add((EVENTS, _line(line)), now=True)

    def event(self, event: Event) -> None:
        self._add((EVENTS, _line({"type": "event", **vars(event)})), now=True)

    def setup(self, setup: Setup) -> None:
        """Put a better known setup in the place of the one before."""
        self._add((EVENTS, _line({"type": "setup", **vars(setup)})), now=True)

    def flush(self) -> None:
        """Write out everything that waits."""
        try:
            _write(self._files, self._buffers)
        except OSError:
            _release(self._files)
            raise
        self._flushed = time.monotonic()

    def close(self) -> None:
        """Write out everything that waits and close the files; closing twice does no harm."""
        self.flush()
        _release(self._files)

    def _add(self, *parts: tuple[str, bytes], now: bool = False) -> None:
        if not self._files:
            raise UsageError(f"The chart in {str(self.path)!r} is closed; start a new one.")
        for name, data in parts:
            self._buffers[name] += data
        late = time.monotonic() - self._flushed >= FLUSH_SECONDS
        if now or late or sum(map(len, self._buffers.values())) >= FLUSH_BYTES:
            self.flush()

    def _record(self, table: Table, epoch: int) -> bytes:
        shape = len(table.names), len(STATISTICS)
        if table.values.shape != shape:  # else every later table would be lost to the reader
            raise UsageError(f"values must have the shape {shape}, got {table.values.shape}.")
        number = self._ids.get(table.names)
        if number is None:
            number = len(self._ids)
            self._add((EVENTS, _line({"type": "rows", "id": number, "names": table.names})))
            self._ids[table.names] = number
        with np.errstate(over="ignore"):
            data = table.values.astype("<f4").tobytes()
        fields = table.kind.encode(), table.step, epoch, number, len(table.names), len(data)
        header = HEADER.pack(MAGIC, *fields, 0)[:-4]
        return header + crc32(data, crc32(header)).to_bytes(4, "little") + data


class Chart:
    """A run that was written to a folder, or is being written; every call reads it anew.

    `path` is the folder it is in. A record that is torn, by a kill or because it is just being
    written, ends its file. Reading never writes.

    Example:
        >>> from tempfile import TemporaryDirectory
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
        folder = _folder(path)
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

    def findings(self) -> list[Finding]:
        """Return every finding, oldest first."""
        lines = self._entries("finding")
        for line in lines:
            for key in ("layers", "consequences"):
                line[key] = tuple(line.get(key, ()))
            line["evidence"] = _floats(line["evidence"])
        return [Finding(**line) for line in lines]

    def events(self) -> list[Event]:
        """Return every event, oldest first."""
        return [Event(**line) for line in self._entries("event")]

    def history(self, window: int | None = None) -> History:
        """Return all that was read so far, or the newest `window` of each scalar and table kind."""
        if window is not None and window < 1:
            raise UsageError(f"window must be at least 1, or None for all, got {window!r}.")
        # Read in the reverse order of writing, so that no step lacks its tables.
        lines, records = self._read(SCALARS), self._read(TABLES)
        names = [tuple(line["names"]) for line in self._entries("rows")]
        tables = _tables(io.BytesIO(records), names, self._head["statistics"])
        size = window or sys.maxsize
        history = History(self.setup, window=size, tables=size)
        for line in _lines(lines):
            if "epoch_end" in line:
                history.end_epoch(**_floats(line["metrics"]))
            else:
                taken = tuple(islice(tables, line["tables"]))
                line.update(scalars=_floats(line["scalars"]), tables=taken)
                history.append(Vitals(**line))
        return history

    def _entries(self, kind: str) -> list[Line]:
        return [line for line in _lines(self._read(EVENTS)) if line.pop("type", "") == kind]

    def _read(self, name: str) -> bytes:
        path = self.path / name
        return path.read_bytes() if path.exists() else b""


def _claim(path: object, head: bytes) -> tuple[Path, dict[str, io.FileIO]]:
    """Start a chart in the folder, or in the first sibling that does not exist yet."""
    folder = _folder(path)
    siblings = (folder.with_name(f"{folder.name}-{number}") for number in count(2))
    try:
        place, files = folder, _start(folder, head)
        while files is None:
            place = next(sibling for sibling in siblings if not os.path.lexists(sibling))
            files = _start(place, head)
    except (OSError, ValueError) as error:
        why = f"got {str(folder)!r} ({getattr(error, 'strerror', error)})"
        raise UsageError(f"chart must be a folder that can be made or written to, {why}.") from None
    return place, files


def _start(folder: Path, head: bytes) -> dict[str, io.FileIO] | None:
    """Make the folder and its files, all or nothing; None if a file of a chart is there."""
    files, draft = {}, folder / f"{HEAD}.tmp"
    with ExitStack() as undo:
        for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
            missing.mkdir(exist_ok=True)
            undo.callback(_undo, missing.rmdir)
        if (folder / HEAD).exists():
            return None
        for name in STREAMS:
            try:  # of two processes that start at once, one gets the folder, the other a sibling
                (folder / name).touch(exist_ok=False)
            except FileExistsError:
                return None
            undo.callback(_undo, (folder / name).unlink)
            files[name] = undo.enter_context(open(folder / name, "ab", buffering=0))
        undo.callback(_undo, draft.unlink)
        draft.write_bytes(head)
        os.replace(draft, folder / HEAD)  # last: who sees it sees a whole chart
        undo.pop_all()
    return files


def _write(files: Mapping[str, io.FileIO], buffers: dict[str, bytearray]) -> None:
    for name, file in files.items():
        # Taken out first: a Ctrl-C right after the write must not make it happen twice.
        waiting, buffers[name] = buffers[name], bytearray()
        while waiting:
            waiting = waiting[file.write(waiting) :]


def _release(files: dict[str, io.FileIO]) -> None:
    while files:
        files.popitem()[1].close()


def _write_out(files: dict[str, io.FileIO], buffers: dict[str, bytearray]) -> None:
    with suppress(OSError):
        _write(files, buffers)
    _release(files)


def _undo(action: Callable[[], None]) -> None:
    with suppress(OSError):  # another process may have put something there meanwhile
        action()


def _folder(path: object) -> Path:
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text:
        raise UsageError(f"chart must be a folder, as str or os.PathLike, got {path!r}.")
    return Path(os.path.abspath(text))


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


def _line(fields: Line) -> bytes:
    return _encode(fields).encode("ascii") + b"\n"


def _numbers(values: Mapping[str, float]) -> dict[str, float | str]:
    numbers = {name: float(value) for name, value in values.items()}
    return {name: value if isfinite(value) else str(value) for name, value in numbers.items()}


def _floats(values: Mapping[str, float | str]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}
