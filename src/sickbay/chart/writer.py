"""Writing a chart."""

import io
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from weakref import finalize
from zlib import crc32

import numpy as np

from sickbay.chart.format import (
    EVENTS,
    HEAD,
    HEADER,
    MAGIC,
    SCALARS,
    SCHEMA,
    TABLES,
    Names,
    encode,
    folder_of,
    to_json,
)
from sickbay.errors import UsageError
from sickbay.findings import Event, Finding
from sickbay.readings import STATISTICS, Setup, Table, Vitals

FLUSH_SECONDS = 1.0  # what a kill can cost
FLUSH_BYTES = 1 << 20  # keeps the buffer small however fast readings come
# Flushed in this order: a table finds its row names on disk, and a step its tables.
STREAMS = (EVENTS, TABLES, SCALARS)


class ChartWriter:
    """Writes a run to a folder, or to a sibling (`NAME-2`, ...) if that holds a chart already.

    `path` is the folder it got. Readings wait in memory for about a second; findings, events and
    setups go out at once and take along what waits. If the disk fails, the `OSError` is raised
    once and the chart is closed; what was written stays readable.
    """

    def __init__(self, path: str | os.PathLike[str], setup: Setup) -> None:
        head = {"schema": SCHEMA, "started": time.time(), "setup": vars(setup)}
        self.path, self._files = _claim(path, encode({**head, "statistics": list(STATISTICS)}))
        self._buffers = {name: bytearray() for name in STREAMS}
        self._ids: dict[Names, int] = {}
        self._flushed = time.monotonic()
        # Many a loop ends without closing: then this is done when the writer, or Python, goes.
        finalize(self, _write_out, self._files, self._buffers)

    def append(self, vitals: Vitals) -> None:
        records = [self._record(table, vitals.epoch) for table in vitals.tables]
        line = {**vars(vitals), "scalars": to_json(vitals.scalars), "tables": len(records)}
        self._add((TABLES, b"".join(records)), (SCALARS, encode(line)))

    def end_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Close an epoch, with what was measured over all of it."""
        self._add((SCALARS, encode({"epoch_end": epoch, "metrics": to_json(metrics)})))

    def finding(self, finding: Finding) -> None:
        line = {"type": "finding", **vars(finding), "evidence": to_json(finding.evidence)}
        self._add((EVENTS, encode(line)), now=True)

    def event(self, event: Event) -> None:
        self._add((EVENTS, encode({"type": "event", **vars(event)})), now=True)

    def setup(self, setup: Setup) -> None:
        """Put a better known setup in the place of the one before."""
        self._add((EVENTS, encode({"type": "setup", **vars(setup)})), now=True)

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
            self._add((EVENTS, encode({"type": "rows", "id": number, "names": table.names})))
            self._ids[table.names] = number
        with np.errstate(over="ignore"):
            data = table.values.astype("<f4").tobytes()
        fields = table.kind.encode(), table.step, epoch, number, len(table.names), len(data)
        header = HEADER.pack(MAGIC, *fields, 0)[:-4]
        return header + crc32(data, crc32(header)).to_bytes(4, "little") + data


def _claim(path: object, head: bytes) -> tuple[Path, dict[str, io.FileIO]]:
    """Start a chart in the folder, or in the first sibling that does not exist yet."""
    folder = folder_of(path)
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
