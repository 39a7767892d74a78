"""Writing rows to the files of a chart: as lines first, and as a block once there are enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from io import FileIO

from sickbay.chart.blocks import Columns, pack_block
from sickbay.chart.folder import BLOCKS, EVENTS, LINES, TABLES
from sickbay.chart.json_lines import Names, Row, encode, encode_row
from sickbay.chart.tables import pack_table
from sickbay.history import History
from sickbay.vitals import Vitals

ROWS_PER_BLOCK = 1024


class FileWriter:
    """Writes to the files of a chart; for one thread at a time.

    Rows count as written before they are. So a Ctrl-C while writing may lose some rows, but none is
    written twice.
    """

    def __init__(self, files: dict[str, FileIO]) -> None:
        self.files = files
        self._name_ids: dict[Names, int] = {}
        self._history = History(window=1, tables=1)  # of what is in blocks
        self._row = 0  # number of the first row that is in no block yet
        self._rows: list[Row] = []  # these rows, without their tables
        self._kinds: Counter[str] = Counter()  # of the tables of these rows
        self._start = 0  # where these tables begin in their file

    def write(self, events: bytes, readings: Sequence[Row]) -> None:
        """Write lines of events, then readings."""
        first = self._row + len(self._rows)
        new_names, tables = dict[Names, int](), list[bytes]()
        for number, reading in enumerate(readings, first):
            if isinstance(reading, Vitals) and reading.tables:
                tables += self._pack_tables(number, reading, new_names)
                reading = replace(reading, tables=())
            self._rows.append(reading)
        for names, index in new_names.items():
            events += encode({"type": "rows", "id": index, "names": names})
        self._put(EVENTS, events)
        self._name_ids |= new_names
        self._put(TABLES, b"".join(tables))
        if len(self._rows) < ROWS_PER_BLOCK:
            new = self._rows[first - self._row :]
            self._put(LINES, b"".join(encode_row(*each) for each in enumerate(new, first)))
        else:
            self._put(BLOCKS, self._pack_block())
            self.files[LINES].truncate(0)

    def close(self) -> None:
        """Close the files."""
        while self.files:
            self.files.popitem()[1].close()

    def _pack_tables(self, row: int, reading: Vitals, new_names: dict[Names, int]) -> list[bytes]:
        """Return the tables of a reading as records; add unknown row names to `new_names`."""
        records = []
        for table in reading.tables:
            name_id = self._name_ids.get(table.names)
            if name_id is None:
                name_id = new_names.setdefault(table.names, len(self._name_ids) + len(new_names))
            records.append(pack_table(table, row, name_id))
            self._kinds[table.kind] += 1
        return records

    def _pack_block(self) -> bytes:
        """Return a block of the rows that are in none yet."""
        rows, self._rows = self._rows, []
        kinds, self._kinds = self._kinds, Counter()
        row, self._row = self._row, self._row + len(rows)
        start, self._start = self._start, self.files[TABLES].tell()
        place = {"row": row, "rows": len(rows), "start": start, "stop": self._start}
        return pack_block(Columns.of(rows), self._history, **place, kinds=kinds)

    def _put(self, name: str, data: bytes) -> None:
        while data:
            data = data[self.files[name].write(data) or 0 :]
