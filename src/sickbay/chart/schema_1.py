"""Tables of charts of schema 1, which do not tell what row they belong to.

The lines of steps say how many tables each has, and tables come in that order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import dropwhile, islice
from struct import Struct
from zlib import crc32

from sickbay.chart.format import sound
from sickbay.chart.lines import Told
from sickbay.chart.record_frames import Frame, scan
from sickbay.chart.tables import Maker
from sickbay.vitals import Table, Vitals

MAGIC = b"SBT1"
# magic, kind, step, epoch, id of the row names, rows, bytes of values, checksum of all and these
HEADER = Struct("<4s16sqqIIII")


def read(
    data: bytes, maker: Maker, told: Sequence[Told | None]
) -> Iterator[tuple[int, Table] | None]:
    """Yield tables with the rows of the run that they belong to, None where one is damaged."""

    def made(frame: Frame) -> Table | None:
        _, kind, step, _, names, *_ = HEADER.unpack(frame.head())
        return maker.made(kind, step, names, frame.body())

    tables = sound(made, scan(data, MAGIC, _header, HEADER.size))
    is_unsure = False  # after a damaged line: nobody knows how many tables it had
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


def _header(data: bytes, place: int) -> Frame:
    start = place + HEADER.size
    header = data[place:start]
    *_, size, checksum = HEADER.unpack(header)
    return Frame(data, place, start, start + size, (crc32(header), checksum), crc32(header[:-4]))
