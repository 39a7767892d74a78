"""The steps, ends of epochs and tables of a chart, added to a history as they happened."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from sickbay.chart.blocks import Block, Columns, TablesOf, scan_blocks
from sickbay.chart.files import BLOCKS, EVENTS, LINES, TABLES
from sickbay.chart.json_lines import EpochEnd, Events, Row, or_none, read_rows, whole_lines
from sickbay.chart.table_records import TableReader
from sickbay.errors import UsageError
from sickbay.history import History
from sickbay.safe_files import file_size, read_file, read_range
from sickbay.vitals import Table

Damage: TypeAlias = dict[str, list[int]]  # for each file, how many parts are damaged, and of all
UNITS = {EVENTS: "line", LINES: "line", BLOCKS: "block", TABLES: "table"}


def read_events(path: Path, damage: Damage) -> Events:
    """Return the findings, events, setups and row names of a chart."""
    found = Events()
    added = list(or_none(found.add, whole_lines(_contents(path / EVENTS))))
    damage[EVENTS] = [added.count(None), len(added)]
    return found


def describe_damage(damage: Damage) -> list[str]:
    """Return a sentence for each damaged file."""
    sentences = []
    for name, (damaged, count) in damage.items():
        parts = f"{UNITS[name]} of {count} is" if damaged == 1 else f"{UNITS[name]}s of {count} are"
        if damaged:
            sentences.append(f"{name}: {damaged} {parts} damaged and left out")
    return sentences


class StoredRun:
    """A run as it is on disk at this moment.

    The files are read in the reverse order of writing. So every step has its tables, and every
    table its row names. Rows that a writer moves from lines to a block meanwhile are read twice.
    """

    def __init__(self, path: Path, statistics: Sequence[str], schema: int, damage: Damage) -> None:
        self._path, self._schema, self._damage = path, schema, damage
        self._lines = read_rows(_contents(path / LINES))
        damage[LINES] = [self._lines.count(None), len(self._lines)]
        blocks = _in_order(list(scan_blocks(_contents(path / BLOCKS))))
        self._blocks = [block for block in blocks if block is not None]
        self._block_damage = damage[BLOCKS] = [blocks.count(None), len(blocks)]
        self._newest = self._rows_after_blocks()
        tables = path / TABLES
        self._end_of_tables = file_size(tables) if os.path.lexists(tables) else 0
        self._reader = TableReader(read_events(path, damage).names, statistics)
        self._table_damage = [0, 0]

    def count_values(self, window: int) -> int:
        """Return how many values of scalars a history with this window holds."""
        counts: Counter[str] = Counter()
        for block in self._blocks:
            counts.update(block.summary.counts)
        for _, columns in self._newest:
            counts.update(columns.counts())
        return sum(min(window, count) for count in counts.values())

    def add_to(
        self, history: History, newest: int | None = None
    ) -> Iterator[tuple[float | None, bool]]:
        """Add everything to a history; yield times and ends of epochs, see `Columns.add_to`.

        With `newest`, skip blocks without any of the newest values of a scalar or tables of a kind.
        """
        for row, columns, tables_of in self._parts(history, newest):
            yield from columns.add_to(history, row, tables_of)

    def add_by_row(self, history: History) -> Iterator[History]:
        """Add one row after the other to a history, and yield it after each."""
        for number, columns, tables_of in self._parts(history, None):
            for row_number, row in enumerate(columns.rows(), number):
                if isinstance(row, EpochEnd):
                    history.end_epoch(**row.metrics)
                else:
                    row.tables = tables_of(row_number, row_number + 1)
                    history.append(row)
                yield history

    def _parts(
        self, history: History, newest: int | None
    ) -> Iterator[tuple[int, Columns, TablesOf]]:
        """Yield the number of the first row, columns and tables; skip blocks in the history."""
        needed = None if newest is None else self._needed(newest)
        stop = 0
        for index, block in enumerate(self._blocks):
            start, stop = block.summary.start, block.summary.stop
            columns = None
            try:
                if needed is None or index in needed:
                    columns = block.columns()
            except UsageError:
                self._block_damage[0] += 1
            if columns is None:
                block.skip(history)
            else:
                yield block.summary.row, columns, self._tables_of(start, stop)
        tables_of = self._tables_of(stop, self._end_of_tables)
        for row, columns in self._newest:
            yield row, columns, tables_of
        self._damage[TABLES] = self._table_damage

    def _rows_after_blocks(self) -> list[tuple[int, Columns]]:
        """Return the rows that are in no block, in pieces between damaged lines."""
        pieces: list[tuple[int, list[Row]]] = []
        last = self._blocks[-1].summary if self._blocks else None
        row = 0 if last is None else last.row + last.rows
        for line in self._lines:
            if line is not None and line.number >= row:
                if not pieces or line.number > row:
                    pieces.append((line.number, []))
                pieces[-1][1].append(line.row)
                row = line.number + 1
        return [(number, Columns.of(rows)) for number, rows in pieces]

    def _needed(self, newest: int) -> set[int]:
        """Return the blocks that hold some of the newest of a scalar or of a kind of table."""
        needed: set[int] = set()
        known: Counter[tuple[str, str]] = Counter()
        for _, columns in self._newest:
            known.update({("scalar", name): count for name, count in columns.counts().items()})
        for index, block in reversed(list(enumerate(self._blocks))):
            here = {("scalar", name): count for name, count in block.summary.counts.items()}
            here |= {("table", kind): count for kind, count in block.summary.kinds.items()}
            if any(count and known[what] < newest for what, count in here.items()):
                needed.add(index)
                known.update(here)
        return needed

    def _tables_of(self, start: int, stop: int) -> TablesOf:
        """Return a function of two rows that takes the tables between them from a piece of file."""
        tables = self._read_tables(start, stop)
        upcoming = next(tables, None)

        def take(first: int, end: int) -> list[Table]:
            nonlocal upcoming
            found = []
            while upcoming is not None and upcoming[0] < end:
                if upcoming[0] >= first:
                    found.append(upcoming[1])
                upcoming = next(tables, None)
            return found

        return take

    def _read_tables(self, start: int, stop: int) -> Iterator[tuple[int, Table]]:
        data = read_range(self._path / TABLES, start, stop) if stop > start else b""
        reader, is_old = self._reader, self._schema == 1
        for each in reader.read_schema_1(data, self._lines) if is_old else reader.read(data):
            self._table_damage[1] += 1
            if each is None:
                self._table_damage[0] += 1
                known = self._damage.get(TABLES, [0, 0])  # from an earlier, maybe longer reading
                self._damage[TABLES] = max(self._table_damage, known)
            else:
                yield each


def _in_order(blocks: list[Block | None]) -> list[Block | None]:
    """Replace blocks by None that repeat rows or tables of earlier blocks."""
    row = start = 0
    for index, block in enumerate(blocks):
        if block is not None:
            summary = block.summary
            if summary.row < row or summary.start < start:
                blocks[index] = None
            else:
                row, start = summary.row + summary.rows, summary.stop
    return blocks


def _contents(path: Path) -> bytes:
    return read_file(path) if os.path.lexists(path) else b""
