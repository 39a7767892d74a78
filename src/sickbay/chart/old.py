"""Tables of charts of schema 1, which do not tell what row they belong to.

The lines of steps say how many tables each has, and tables come in that order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, islice
from struct import Struct
from zlib import crc32

from sickbay.chart.frames import records
from sickbay.chart.lines import Told
from sickbay.chart.tables import Maker
from sickbay.readings import Table, Vitals

MAGIC = b"SBT1"
# magic, kind, step, epoch, id of the row names, rows, bytes of values, checksum of all and these
HEADER = Struct("<4s16sqqIIII")


@dataclass(frozen=True)
class _Record:
    kind: bytes
    step: int
    names: int
    start: int  # of the values
    stop: int
    seed: int  # of the checksum
    checksum: int


def read(
    data: bytes, maker: Maker, told: Sequence[Told | None]
) -> Iterator[tuple[int, Table] | None]:
    """Yield tables with the rows of the run that they belong to, None where one is damaged."""
    found = records(data, _header, MAGIC, HEADER.size)
    tables: Iterator[Table | None] = (_table(record, data, maker) for record in found)
    is_unsure = False  # after a damaged line, which had nobody knows how many
    for line in told:
        if line is None:
            is_unsure = True
        elif line.tables and isinstance(line.row, Vitals):
            if is_unsure:
                tables = _from(line.row.step, tables)
                is_unsure = False
            for table in islice(tables, line.tables):
                yield None if table is None else (line.number, table)


def _from(step: int, tables: Iterator[Table | None]) -> Iterator[Table | None]:
    return dropwhile(lambda table: table is None or table.step < step, tables)


def _header(data: bytes, place: int) -> _Record | None:
    start = place + HEADER.size
    magic, kind, step, _, names, _, size, checksum = HEADER.unpack(data[place:start])
    if magic != MAGIC:
        return None
    return _Record(kind, step, names, start, start + size, crc32(data[place : start - 4]), checksum)


def _table(record: _Record | None, data: bytes, maker: Maker) -> Table | None:
    if record is None:
        return None
    values = data[record.start : record.stop]
    if crc32(values, record.seed) != record.checksum:
        return None
    return maker.made(record.kind, record.step, record.names, values)
