"""Tables as binary records: the head tells kind, step and row; the body is float32 values.

In charts of schema 1 tables do not name their row. There, the line of each step says how many
tables it has, and the tables come in that order.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile, islice
from struct import Struct
from zlib import crc32

import numpy as np

from sickbay.chart.binary_records import Record, pack_record, scan_records
from sickbay.chart.json_lines import Names, NumberedRow, or_none
from sickbay.errors import UsageError
from sickbay.vitals import COLUMN, KINDS, STATISTICS, Kind, Table, Vitals

MAGIC, MAGIC_1 = b"SBT2", b"SBT1"
HEAD = Struct("<16sqQI")  # kind, step, row of the run, id of the row names
# magic, kind, step, epoch, id of the row names, rows, bytes of values, checksum of all and these
HEAD_1 = Struct("<4s16sqqIIII")
KIND_OF: dict[bytes, Kind] = {kind.encode().ljust(16, b"\0"): kind for kind in KINDS}


def pack_table(table: Table, row: int, names: int) -> bytes:
    """Return a table as a record; `names` is the id of its row names."""
    with np.errstate(over="ignore"):
        data = table.values.astype("<f4").tobytes()
    return pack_record(MAGIC, HEAD.pack(table.kind.encode(), table.step, row, names), data)


class TableReader:
    """Reads tables, each with the number of its row in the run; None where one is damaged."""

    def __init__(self, names: Mapping[int, Names], statistics: Sequence[str]) -> None:
        self._names, self._width = names, len(statistics)
        self._known = [index for index, name in enumerate(statistics) if name in COLUMN]
        self._columns = [COLUMN[statistics[index]] for index in self._known]

    def read(self, data: bytes) -> Iterator[tuple[int, Table] | None]:
        """Yield the tables of schema 2."""
        return or_none(self._read, scan_records(data, MAGIC))

    def read_schema_1(
        self, data: bytes, rows: Sequence[NumberedRow | None]
    ) -> Iterator[tuple[int, Table] | None]:
        """Yield the tables of schema 1, given the rows of the run, None for damaged ones."""
        tables = or_none(self._read_1, scan_records(data, MAGIC_1, _header_1, HEAD_1.size))
        is_unsure = False  # after a damaged line: nobody knows how many tables it had
        for row in rows:
            if row is None:
                is_unsure = True
            elif row.tables and isinstance(row.row, Vitals):
                if is_unsure:
                    tables = _from(row.row.step, tables)
                    is_unsure = False
                for table in islice(tables, row.tables):
                    yield None if table is None else (row.number, table)

    def _read(self, record: Record) -> tuple[int, Table]:
        head = record.head()
        if len(head) != HEAD.size:
            raise UsageError("The record is not a table.")
        kind, step, row, names = HEAD.unpack(head)
        return row, self._table(kind, step, names, record.body())

    def _read_1(self, record: Record) -> Table:
        _, kind, step, _, names, *_ = HEAD_1.unpack(record.head())
        return self._table(kind, step, names, record.body())

    def _table(self, kind: bytes, step: int, names: int, data: bytes) -> Table:
        rows = self._names.get(names, ())
        if kind not in KIND_OF or len(data) != len(rows) * self._width * 4:
            raise UsageError("The bytes are not of a table.")
        values = np.full((len(rows), len(STATISTICS)), np.nan)
        read = np.frombuffer(data, "<f4").reshape(len(rows), self._width)
        values[:, self._columns] = read[:, self._known]
        return Table(KIND_OF[kind], step, rows, values)


def _from(step: int, tables: Iterator[Table | None]) -> Iterator[Table | None]:
    return dropwhile(lambda table: table is None or table.step < step, tables)


def _header_1(data: bytes, place: int) -> Record:
    start = place + HEAD_1.size
    header = data[place:start]
    *_, size, checksum = HEAD_1.unpack(header)
    return Record(data, place, start, start + size, (crc32(header), checksum), crc32(header[:-4]))
