"""Readings turned into bytes and written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from io import FileIO

from sickbay.chart import blocks, tables
from sickbay.chart.columns import Columns, Row
from sickbay.chart.format import BLOCKS, EVENTS, LINES, TABLES, Names, encode
from sickbay.chart.lines import line_of
from sickbay.history import History
from sickbay.vitals import Vitals

ENOUGH = 1024  # rows that make a block


class Ledger:
    """Writes to the files of a chart; for one thread at a time.

    Rows are lines until there are enough for a block, which then takes the place of the lines.
    What is about to be written counts as written: a Ctrl-C in between may cost some of it, but
    nothing is there twice.
    """

    def __init__(self, files: dict[str, FileIO]) -> None:
        self.files = files
        self._ids: dict[Names, int] = {}
        self._history = History(window=1, tables=1)  # of what is in blocks
        self._row = 0  # number of the first row that is in no block yet
        self._rows: list[Row] = []  # these rows, without their tables
        self._kinds: Counter[str] = Counter()  # of these tables
        self._start = 0  # where these tables begin in their file

    def write(self, events: bytes, readings: Sequence[Row]) -> None:
        """Write lines of events, then readings."""
        first = self._row + len(self._rows)
        names, records = dict[Names, int](), list[bytes]()
        for number, reading in enumerate(readings, first):
            if isinstance(reading, Vitals) and reading.tables:
                records += self._records(number, reading, names)
                reading = replace(reading, tables=())
            self._rows.append(reading)
        told = [encode({"type": "rows", "id": each, "names": key}) for key, each in names.items()]
        self._put(EVENTS, events + b"".join(told))
        self._ids |= names
        self._put(TABLES, b"".join(records))
        if len(self._rows) < ENOUGH:
            new = self._rows[first - self._row :]
            self._put(LINES, b"".join(line_of(*each) for each in enumerate(new, first)))
        else:
            self._put(BLOCKS, self._block())
            self.files[LINES].truncate(0)

    def release(self) -> None:
        """Close the files."""
        while self.files:
            self.files.popitem()[1].close()

    def _records(self, row: int, reading: Vitals, names: dict[Names, int]) -> list[bytes]:
        """Return the tables of a reading as records; names of rows that are new join `names`."""
        records = []
        for table in reading.tables:
            known = self._ids.get(table.names)
            if known is None:
                known = names.setdefault(table.names, len(self._ids) + len(names))
            records.append(tables.pack(table, row, known))
            self._kinds[table.kind] += 1
        return records

    def _block(self) -> bytes:
        """Return a block of the rows that are in none yet."""
        rows, self._rows = self._rows, []
        kinds, self._kinds = self._kinds, Counter()
        stop = self.files[TABLES].tell()
        place = blocks.Place(self._row, len(rows), self._start, stop, kinds)
        self._row, self._start = self._row + len(rows), stop
        return blocks.pack(place, Columns.of(rows), self._history)

    def _put(self, name: str, data: bytes) -> None:
        while data:
            data = data[self.files[name].write(data) or 0 :]
