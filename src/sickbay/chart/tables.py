"""Tables as bytes: a record has a header with checksums, then float32 values.

Records of schema 1 have no number of their own and one checksum of everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from zlib import crc32

import numpy as np

from sickbay.chart.format import Names
from sickbay.chart.frames import frames
from sickbay.readings import COLUMN, KINDS, STATISTICS, Kind, Table

MAGIC, OLD_MAGIC, SIGN = b"SBT2", b"SBT1", b"SBT"
# magic, kind, step, epoch, id of the row names, rows, bytes of values, number of the table,
# checksum of the values, checksum of all this
HEADER = Struct("<4s16sqqIIIQII")
OLD_HEADER = Struct("<4s16sqqIIII")  # ..., checksum of all the others and the values
KIND_OF: dict[bytes, Kind] = {kind.encode().ljust(16, b"\0"): kind for kind in KINDS}


def pack(table: Table, epoch: int, names: int, number: int) -> bytes:
    """Return a table as a record; `names` is the id of its row names."""
    with np.errstate(over="ignore"):
        data = table.values.astype("<f4").tobytes()
    fields = table.kind.encode(), table.step, epoch, names, len(table.names), len(data), number
    header = HEADER.pack(MAGIC, *fields, crc32(data), 0)[:-4]
    return header + crc32(header).to_bytes(4, "little") + data


@dataclass(frozen=True)
class Record:
    """A record of which the header was read: where its values are, and what they are to be."""

    kind: Kind | None
    step: int
    names: int
    rows: int
    number: int | None
    start: int
    stop: int
    checksum: int
    seed: int = 0  # of the checksum: that of the header, where one is for both


class Reader:
    """Reads the tables in pieces of `tables.bin`.

    `seen` counts all of them, `damaged` those that it has left out.
    """

    def __init__(self, names: Mapping[int, Names], statistics: Sequence[str]) -> None:
        self.damaged = self.seen = 0
        self._names, self._width = names, len(statistics)
        self._known = [index for index, name in enumerate(statistics) if name in COLUMN]
        self._columns = [COLUMN[statistics[index]] for index in self._known]

    def read(self, data: bytes, number: int = 0) -> Iterator[tuple[int, Table]]:
        """Yield tables with their numbers; `number` is that of the first, if it does not tell."""
        for record in frames(data, _header, SIGN, OLD_HEADER.size):
            if record is not None and record.number is not None:
                number = record.number
            table = None if record is None else self._table(record, data)
            self.seen += 1
            self.damaged += table is None
            if table is not None:
                yield number, table
            number += 1

    def _table(self, record: Record, data: bytes) -> Table | None:
        plain, names = data[record.start : record.stop], self._names.get(record.names, ())
        rows, width = len(names), self._width
        if record.kind is None or rows != record.rows or len(plain) != rows * width * 4:
            return None
        if crc32(plain, record.seed) != record.checksum:
            return None
        values = np.full((rows, len(STATISTICS)), np.nan)
        read = np.frombuffer(plain, "<f4").reshape(rows, width)
        values[:, self._columns] = read[:, self._known]
        return Table(record.kind, record.step, names, values)


def _header(data: bytes, place: int) -> Record | None:
    magic = data[place : place + 4]
    shape = OLD_HEADER if magic == OLD_MAGIC else HEADER
    start = place + shape.size
    header = data[place:start]
    if magic not in (MAGIC, OLD_MAGIC):
        return None
    if len(header) < shape.size:  # torn
        return Record(None, 0, 0, 0, None, start, start, 0)
    _, kind, step, _, names, rows, size, *rest = shape.unpack(header)
    where = KIND_OF.get(kind), step, names, rows
    if magic == OLD_MAGIC:
        return Record(*where, None, start, start + size, rest[0], crc32(header[:-4]))
    number, checksum, whole = rest
    return (
        Record(*where, number, start, start + size, checksum)
        if whole == crc32(header[:-4])
        else None
    )
