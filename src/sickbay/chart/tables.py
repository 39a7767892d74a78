"""Tables as bytes: a record tells what it is of, then come float32 values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from struct import Struct

import numpy as np

from sickbay.chart import record_frames
from sickbay.chart.format import Names, sound
from sickbay.vitals import COLUMN, KINDS, STATISTICS, Kind, Table

MAGIC = b"SBT2"
HEAD = Struct("<16sqQI")  # kind, step, row of the run, id of the row names
KIND_OF: dict[bytes, Kind] = {kind.encode().ljust(16, b"\0"): kind for kind in KINDS}


def pack(table: Table, row: int, names: int) -> bytes:
    """Return a table as a record; `names` is the id of its row names."""
    with np.errstate(over="ignore"):
        data = table.values.astype("<f4").tobytes()
    return record_frames.pack(MAGIC, HEAD.pack(table.kind.encode(), table.step, row, names), data)


class Maker:
    """Makes tables of bytes, by the names of their rows and columns."""

    def __init__(self, names: Mapping[int, Names], statistics: Sequence[str]) -> None:
        self._names, self._width = names, len(statistics)
        self._known = [index for index, name in enumerate(statistics) if name in COLUMN]
        self._columns = [COLUMN[statistics[index]] for index in self._known]

    def made(self, kind: bytes, step: int, names: int, data: bytes) -> Table | None:
        """Return a table, None if the bytes cannot be one."""
        rows, known = self._names.get(names, ()), KIND_OF.get(kind)
        if known is None or len(data) != len(rows) * self._width * 4:
            return None
        values = np.full((len(rows), len(STATISTICS)), np.nan)
        read = np.frombuffer(data, "<f4").reshape(len(rows), self._width)
        values[:, self._columns] = read[:, self._known]
        return Table(known, step, rows, values)

    def read(self, data: bytes) -> Iterator[tuple[int, Table] | None]:
        """Yield tables with the rows of the run that they belong to, None where one is damaged."""
        return sound(self._read, record_frames.scan(data, MAGIC))

    def _read(self, frame: record_frames.Frame) -> tuple[int, Table] | None:
        head = frame.head()
        if len(head) != HEAD.size:
            return None
        kind, step, row, names = HEAD.unpack(head)
        table = self.made(kind, step, names, frame.body())
        return None if table is None else (row, table)
