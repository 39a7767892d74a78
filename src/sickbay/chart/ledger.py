"""Readings turned into bytes and written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from io import FileIO
from itertools import count
from typing import TypeAlias

from sickbay.chart import blocks, tables
from sickbay.chart.columns import Columns
from sickbay.chart.digest import Place, digested
from sickbay.chart.format import BLOCKS, EVENTS, LINES, TABLES, Names, encode
from sickbay.chart.lines import line_of
from sickbay.chart.rows import EpochEnd, Row, Step
from sickbay.history import History
from sickbay.readings import Vitals

Waiting: TypeAlias = Vitals | EpochEnd

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
        self._new_ids = count()
        self._history = History(window=1, tables=1)  # of what is in blocks
        self._rows: list[Row] = []  # that are in no block yet
        self._tables: list[tuple[str, int]] = []  # of these: kind, and where it ends
        self._row = self._table = self._at = 0  # numbers of the first of each; where tables begin

    def write(self, events: bytes, readings: Sequence[Waiting]) -> None:
        """Write lines of events, then readings."""
        row, names, records = self._row + len(self._rows), dict[Names, int](), list[bytes]()
        rows = [self._noted(each, names, records) for each in readings]
        self._rows += rows
        told = [encode({"type": "rows", "id": each, "names": key}) for key, each in names.items()]
        self._put(EVENTS, events + b"".join(told))
        self._ids |= names
        self._put(TABLES, b"".join(records))
        if len(self._rows) < ENOUGH:
            new = (line_of(row + index, each) for index, each in enumerate(rows))
            self._put(LINES, b"".join(new))
        else:
            while self._rows:
                self._put(BLOCKS, self._block())
            self.files[LINES].truncate(0)

    def release(self) -> None:
        """Close the files."""
        while self.files:
            self.files.popitem()[1].close()

    def _noted(self, reading: Waiting, names: dict[Names, int], records: list[bytes]) -> Row:
        """Return a reading as a row; its tables become records, which need names."""
        if isinstance(reading, EpochEnd):
            return reading
        number = self._table + len(self._tables)
        if not reading.tables:
            return Step(reading, number, 0)
        end = self._tables[-1][1] if self._tables else self._at
        for index, table in enumerate(reading.tables):
            key = table.names
            if key not in self._ids and key not in names:
                names[key] = next(self._new_ids)
            known = self._ids.get(key, names.get(key, 0))
            records.append(tables.pack(table, reading.epoch, known, number + index))
            end += len(records[-1])
            self._tables.append((table.kind, end))
        plain = Vitals(reading.step, reading.epoch, reading.time, reading.scalars)
        return Step(plain, number, len(reading.tables))

    def _block(self) -> bytes:
        """Take the first rows that are in no block, and return one that holds them."""
        rows, self._rows = self._rows[: blocks.MOST_ROWS], self._rows[blocks.MOST_ROWS :]
        columns = Columns.of(rows)
        number = int(columns.tables.sum())
        taken, self._tables = self._tables[:number], self._tables[number:]
        kinds = Counter(kind for kind, _ in taken)
        until = taken[-1][1] if taken else self._at
        place = Place(row=self._row, table=self._table, at=self._at, until=until, kinds=kinds)
        self._row, self._table, self._at = self._row + len(rows), self._table + number, until
        return blocks.pack(digested(place, columns, self._history), columns)

    def _put(self, name: str, data: bytes) -> None:
        while data:
            data = data[self.files[name].write(data) or 0 :]
