"""The run on disk: a folder of append-only files that survive a kill and can be read meanwhile.

chart.json      schema, start time, first setup and column names; written once, and last
scalars.jsonl   a line per step and per end of an epoch
events.jsonl    a line per finding, event, newer setup, and list of row names
tables.bin      a checked record per table: header, checksum, float32 values

JSON has no NaN and no infinity: they are the strings "nan", "inf" and "-inf".
"""

import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import count, islice
from math import isfinite
from pathlib import Path
from struct import Struct
from typing import Any, BinaryIO, TypeAlias, TypeVar
from zlib import crc32

import numpy as np

from sickbay.errors import UsageError
from sickbay.findings import Event, Finding
from sickbay.history import History
from sickbay.readings import COLUMN, KINDS, STATISTICS, Kind, Numbers, Setup, Table, Vitals

SCHEMA = 1
FLUSH_SECONDS = 1.0  # what a kill can cost
FLUSH_BYTES = 1 << 20  # keeps the buffer small however fast readings come

HEAD, EVENTS, TABLES, SCALARS = "chart.json", "events.jsonl", "tables.bin", "scalars.jsonl"
# Flushed in this order: a table finds its row names on disk, a step its tables.
STREAMS = (EVENTS, TABLES, SCALARS)

MAGIC = b"SBT1"
HEADER = Struct("<4s16sqqIII")  # magic, kind, step, epoch, id of the row names, rows, bytes
CHECKSUM = Struct("<I")  # of the header and the values
# By name, not by position, so that KINDS may be reordered.
KIND_OF: dict[bytes, Kind] = {kind.encode().ljust(16, b"\0"): kind for kind in KINDS}

StrPath: TypeAlias = "str | os.PathLike[str]"
Names: TypeAlias = tuple[str, ...]
Entry: TypeAlias = Finding | Event | Setup | Names | None
Line: TypeAlias = dict[str, Any]
T = TypeVar("T")

_BROKEN = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=dict).encode


class ChartWriter:
    """Writes a run to a folder, or beside it (`NAME-2`, ...) if it holds a chart already.

    Readings wait in memory for about a second; findings, events and setups go out at once, and
    take along what waits. If the disk fails, the `OSError` is raised once and the chart is closed:
    what was written stays readable.

    Attributes:
        path: The folder that is written to.

    Raises:
        UsageError: The folder cannot be made or written, or the chart is closed.
    """

    def __init__(self, path: StrPath, setup: Setup) -> None:
        head = {"schema": SCHEMA, "started": time.time(), "setup": vars(setup)}
        self.path, self._files = _claim(path, _line({**head, "statistics": list(STATISTICS)}))
        self._buffers = {name: bytearray() for name in STREAMS}
        self._ids: dict[Names, int] = {}
        self._flushed = time.monotonic()

    def append(self, vitals: Vitals) -> None:
        """Add one reading."""
        records = [self._record(table, vitals.epoch) for table in vitals.tables]
        line = {
            "step": vitals.step,
            "epoch": vitals.epoch,
            "time": _number(vitals.time),
            "scalars": _numbers(vitals.scalars),
            "tables": len(records),
        }
        self._add((TABLES, b"".join(records)), (SCALARS, _line(line)))

    def end_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Close an epoch, with what was measured over all of it."""
        self._add((SCALARS, _line({"epoch_end": epoch, "metrics": _numbers(metrics)})))

    def finding(self, finding: Finding) -> None:
        """Add a finding, at once."""
        line = {"type": "finding", **vars(finding), "evidence": _numbers(finding.evidence)}
        self._add((EVENTS, _line(line)), now=True)

    def event(self, event: Event) -> None:
        """Add an event, at once."""
        self._add((EVENTS, _line({"type": "event", **vars(event)})), now=True)

    def setup(self, setup: Setup) -> None:
        """Put a better known setup in the place of the one before, at once."""
        self._add((EVENTS, _line({"type": "setup", **vars(setup)})), now=True)

    def flush(self) -> None:
        """Write out everything that waits."""
        try:
            for name, file in self._files.items():
                # Taken out first: after a Ctrl-C in the write, nothing is written twice.
                waiting, self._buffers[name] = self._buffers[name], bytearray()
                while waiting:
                    waiting = waiting[file.write(waiting) :]
        except OSError:
            self._release()
            raise
        self._flushed = time.monotonic()

    def close(self) -> None:
        """Write out everything that waits and close the files; closing twice does no harm."""
        try:
            self.flush()
        finally:
            self._release()

    def _add(self, *parts: tuple[str, bytes], now: bool = False) -> None:
        if not self._files:
            raise UsageError(f"The chart in {str(self.path)!r} is closed; start a new one.")
        for name, data in parts:
            self._buffers[name] += data
        late = time.monotonic() - self._flushed >= FLUSH_SECONDS
        if now or late or sum(map(len, self._buffers.values())) >= FLUSH_BYTES:
            self.flush()

    def _record(self, table: Table, epoch: int) -> bytes:
        with np.errstate(over="ignore"):
            values = table.values.astype("<f4")
        shape = len(table.names), len(STATISTICS)
        if values.shape != shape:  # the reader would stop here, and lose every later table
            raise ValueError(f"values must have the shape {shape}, got {values.shape}.")
        number = self._ids.get(table.names)
        if number is None:
            number = len(self._ids)
            self._add((EVENTS, _line({"type": "rows", "id": number, "names": table.names})))
            self._ids[table.names] = number
        data, kind = values.tobytes(), table.kind.encode()
        header = HEADER.pack(MAGIC, kind, table.step, epoch, number, len(values), len(data))
        return header + CHECKSUM.pack(crc32(data, crc32(header))) + data

    def _release(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()
        self._buffers = {name: bytearray() for name in STREAMS}


class Chart:
    """A run that was written to a folder, or is being written; every call reads it anew.

    A record that is torn, by a kill or because it is just being written, ends its file. Reading
    never writes.

    Attributes:
        path: The folder it is in.

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

    def __init__(self, path: Path, first: Setup, statistics: Sequence[str]) -> None:
        self.path = path
        self._first = first
        self._statistics = statistics

    @classmethod
    def open(cls, path: StrPath) -> "Chart":
        """Open the chart in a folder.

        Raises:
            UsageError: There is none, or it was written by a newer sickbay.
        """
        folder = _folder(path)
        try:
            head = json.loads((folder / HEAD).read_bytes())
            schema = int(head["schema"])
        except (OSError, *_BROKEN):
            raise _missing(folder) from None
        if schema > SCHEMA:
            raise UsageError(
                f"The chart in {str(folder)!r} has schema {schema}, this sickbay reads up to "
                f"{SCHEMA}; get a newer one with: pip install --upgrade sickbay"
            )
        return cls(folder, _setup(head["setup"]), head["statistics"])

    @property
    def setup(self) -> Setup:
        """The newest setup."""
        return self._newest(self._entries())

    def findings(self) -> list[Finding]:
        """Return every finding, oldest first."""
        return [entry for entry in self._entries() if isinstance(entry, Finding)]

    def events(self) -> list[Event]:
        """Return every event, oldest first."""
        return [entry for entry in self._entries() if isinstance(entry, Event)]

    def history(self, window: int | None = None) -> History:
        """Return what problems are judged by, as it was when the newest reading was added.

        Args:
            window: Readings that are kept of each scalar and each kind of table; None for all.
        """
        if window is not None and window < 1:
            raise UsageError(f"window must be None or at least 1, got {window!r}.")
        # Read in the reverse order of writing, so that no reading lacks its tables.
        readings = _lines(self.path / SCALARS, _reading)
        with _opened(self.path / TABLES) as file:
            entries = list(self._entries())
            names = [entry for entry in entries if isinstance(entry, tuple)]
            tables = _tables(file, names, self._statistics)
            size = window or sys.maxsize
            history = History(self._newest(entries), window=size, tables=size)
            for reading, taken in readings:
                if isinstance(reading, Vitals):
                    history.append(replace(reading, tables=tuple(islice(tables, taken))))
                else:
                    history.end_epoch(**reading)
        return history

    def _entries(self) -> Iterator[Entry]:
        return _lines(self.path / EVENTS, _entry)

    def _newest(self, entries: Iterable[Entry]) -> Setup:
        return [self._first, *(entry for entry in entries if isinstance(entry, Setup))][-1]


def _claim(path: StrPath, head: bytes) -> tuple[Path, dict[str, io.FileIO]]:
    """Start a chart in the folder, or in the first sibling that does not exist yet."""
    folder = _folder(path)
    siblings = (folder.with_name(f"{folder.name}-{number}") for number in count(2))
    try:
        place, files = folder, _start(folder, head)
        while files is None:
            place = next(sibling for sibling in siblings if not os.path.lexists(sibling))
            files = _start(place, head)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"path must be a folder that can be made or written to, got {str(folder)!r} ({why})."
        ) from error
    return place, files


def _start(folder: Path, head: bytes) -> dict[str, io.FileIO] | None:
    """Make the folder and its files, all or nothing; None if a file of a chart is there."""
    draft, files = f"{HEAD}.tmp", {}
    with ExitStack() as undo:
        for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
            missing.mkdir(exist_ok=True)
            undo.callback(_remove, missing)
        if (folder / HEAD).exists():
            return None
        for name in (*STREAMS, draft):
            try:
                file = open(folder / name, "ab", buffering=0, opener=_exclusively)  # noqa: SIM115
            except FileExistsError:
                return None
            undo.callback((folder / name).unlink)
            undo.callback(file.close)
            files[name] = file
        with files.pop(draft) as file:
            file.write(head)
        # The last act, so that whoever sees it sees a whole chart.
        os.replace(folder / draft, folder / HEAD)
        undo.pop_all()
    return files


def _exclusively(path: str, flags: int) -> int:
    # Of two processes that start at once, one gets the folder and the other a sibling.
    return os.open(path, flags | os.O_EXCL, 0o666)


def _remove(folder: Path) -> None:
    with suppress(OSError):  # another process has put something there meanwhile
        folder.rmdir()


def _folder(path: object) -> Path:
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text:
        raise UsageError(f"path must be a folder, as str or os.PathLike, got {path!r}.")
    return Path(os.path.abspath(text))


def _missing(folder: Path) -> UsageError:
    near = folder if folder.is_dir() else folder.parent
    charts = sorted(str(head.parent) for head in near.glob(f"*/{HEAD}"))
    hint = f"there is one in {str(charts)[1:-1]}" if charts else f"a chart is a folder with {HEAD}"
    return UsageError(f"There is no chart that can be read in {str(folder)!r}; {hint}.")


def _opened(path: Path) -> BinaryIO:
    try:
        return open(path, "rb")
    except FileNotFoundError:
        return io.BytesIO()


def _lines(path: Path, decode: Callable[[Line], T]) -> Iterator[T]:
    """Read a file now, and decode its lines one by one up to the first that is broken."""
    with _opened(path) as file:
        return _decoded(io.BytesIO(file.read()), decode)


def _decoded(lines: BinaryIO, decode: Callable[[Line], T]) -> Iterator[T]:
    for line in lines:
        if not line.endswith(b"\n"):
            return
        try:
            item = decode(json.loads(line))
        except _BROKEN:
            return
        yield item


def _reading(line: Line) -> tuple[Vitals | dict[str, float], int]:
    """Decode a line of scalars: a step and how many tables it has, or the metrics of an epoch."""
    if "epoch_end" in line:
        return _floats(line["metrics"]), 0
    step, epoch, when = int(line["step"]), int(line["epoch"]), float(line["time"])
    vitals = Vitals(step=step, epoch=epoch, time=when, scalars=_floats(line["scalars"]))
    return vitals, int(line["tables"])


def _entry(line: Line) -> Entry:
    """Decode a line of events; None for a type that is not known here."""
    match line.pop("type"):
        case "finding":
            layers, evidence = tuple(line["layers"]), _floats(line["evidence"])
            return Finding(**{**line, "layers": layers, "evidence": evidence})
        case "event":
            return Event(**line)
        case "setup":
            return _setup(line)
        case "rows":
            return tuple(line["names"])
    return None


def _setup(line: Line) -> Setup:
    shapes = {name: tuple(shape) for name, shape in line["shapes"].items()}
    return Setup(**{**line, "shapes": shapes})


def _tables(file: BinaryIO, names: Sequence[Names], statistics: Sequence[str]) -> Iterator[Table]:
    """Read tables one by one, up to the first record that is not whole."""
    whole = HEADER.size + CHECKSUM.size
    while len(header := file.read(whole)) == whole:
        magic, code, step, _, number, rows, size = HEADER.unpack_from(header)
        kind = KIND_OF.get(code)
        if magic != MAGIC or kind is None or number >= len(names):
            return
        # Before the read: a broken size must not ask for gigabytes.
        if rows != len(names[number]) or size != 4 * rows * len(statistics):
            return
        data = file.read(size)
        if CHECKSUM.pack(crc32(data, crc32(header[: HEADER.size]))) != header[HEADER.size :]:
            return
        yield Table(kind, step, names[number], _values(data, rows, statistics))


def _values(data: bytes, rows: int, statistics: Sequence[str]) -> Numbers:
    """Put columns where this version has them; those it does not know are left out."""
    stored = np.frombuffer(data, "<f4").reshape(rows, len(statistics))
    values = np.full((rows, len(STATISTICS)), np.nan)
    known = [index for index, name in enumerate(statistics) if name in COLUMN]
    values[:, [COLUMN[statistics[index]] for index in known]] = stored[:, known]
    return values


def _line(fields: Line) -> bytes:
    return _encode(fields).encode("ascii") + b"\n"


def _number(value: float) -> float | str:
    value = float(value)
    return value if isfinite(value) else str(value)


def _numbers(values: Mapping[str, float]) -> dict[str, float | str]:
    return {name: _number(value) for name, value in values.items()}


def _floats(values: Mapping[str, float | str]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}
