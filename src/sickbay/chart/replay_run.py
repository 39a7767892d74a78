"""A charted run that happens again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from sickbay.chart import schema_1
from sickbay.chart.blocks import Block
from sickbay.chart.columns import Columns, Row
from sickbay.chart.file_contents import Contents
from sickbay.chart.format import BLOCKS, TABLES
from sickbay.chart.tables import Maker
from sickbay.errors import UsageError
from sickbay.history import History
from sickbay.vitals import Table

# Time of the newest reading if there is one; whether an epoch is over.
Moment: TypeAlias = tuple[float | None, bool]


class Supply:
    """Tables in the order of the rows that they belong to, taken as they are needed."""

    def __init__(self, tables: Iterator[tuple[int, Table]]) -> None:
        self._tables = tables
        self._next = next(tables, None)

    def fetch(self, start: int, stop: int) -> list[Table]:
        """Return the tables of the rows from `start` to before `stop`; older ones are dropped."""
        found = []
        while self._next is not None and self._next[0] < stop:
            if self._next[0] >= start:
                found.append(self._next[1])
            self._next = next(self._tables, None)
        return found


class Run:
    """Steps, ends of epochs and tables as they are on disk at this moment."""

    def __init__(self, contents: Contents, statistics: Sequence[str], schema: int) -> None:
        # Read in the reverse order of writing: so no step lacks its tables, no table its names,
        # and what a writer moves from lines to a block meanwhile is read twice, not never.
        self._contents, self._is_old = contents, schema == 1
        self._lines = contents.lines()
        blocks = contents.blocks()
        self._blocks = [block for block in blocks if block is not None]
        self._seen, self._damaged = len(blocks), blocks.count(None)
        self._last = self._after_blocks()
        self._end_of_tables = contents.end_of_tables()
        self._maker = Maker(contents.events().names, statistics)
        self._tables = self._damaged_tables = 0  # seen so far

    def values(self, window: int) -> int:
        """Return how many values of scalars a history with this window holds."""
        counts: Counter[str] = Counter()
        for block in self._blocks:
            counts.update(block.digest.counts)
        for _, columns in self._last:
            counts.update(columns.counts())
        return sum(min(window, count) for count in counts.values())

    def play(
        self, history: History, newest: int | None = None, by_row: bool = False
    ) -> Iterator[Moment]:
        """Add everything to a history, row by row or as much as possible at once.

        If only the newest of each scalar and table kind are wanted, blocks without any of them are
        gone past.
        """
        for row, columns, supply in self._parts(history, newest):
            yield from columns.play(history, row, supply.fetch, by_row)

    def _parts(self, history: History, newest: int | None) -> Iterator[tuple[int, Columns, Supply]]:
        """Yield what is to be added to a history, with its first row; go past what is not."""
        needed = None if newest is None else self._needed(newest)
        stop = 0
        for index, block in enumerate(self._blocks):
            place = block.digest.place
            stop = place.stop
            columns = self._columns(block) if needed is None or index in needed else None
            if columns is None:
                block.skip(history)
            else:
                yield place.row, columns, Supply(self._read(place.start, stop))
        supply = Supply(self._read(stop, self._end_of_tables))
        for row, columns in self._last:
            yield row, columns, supply

    def _after_blocks(self) -> list[tuple[int, Columns]]:
        """Return the rows that are in no block, in pieces between damaged lines."""
        pieces: list[tuple[int, list[Row]]] = []
        place = self._blocks[-1].digest.place if self._blocks else None
        row = 0 if place is None else place.row + place.rows
        for line in self._lines:
            if line is not None and line.number >= row:
                if not pieces or line.number > row:
                    pieces.append((line.number, []))
                pieces[-1][1].append(line.row)
                row = line.number + 1
        return [(number, Columns.of(rows)) for number, rows in pieces]

    def _needed(self, newest: int) -> set[int]:
        """Return the blocks that have some of the newest of a scalar or of a kind of table."""
        needed: set[int] = set()
        known: Counter[tuple[str, str]] = Counter()
        for _, columns in self._last:
            known.update({("scalar", name): count for name, count in columns.counts().items()})
        for index, block in reversed(list(enumerate(self._blocks))):
            digest = block.digest
            here = {("scalar", name): count for name, count in digest.counts.items()}
            here |= {("table", kind): count for kind, count in digest.place.kinds.items()}
            if any(count and known[what] < newest for what, count in here.items()):
                needed.add(index)
                known.update(here)
        return needed

    def _columns(self, block: Block) -> Columns | None:
        try:
            return block.columns()
        except UsageError:
            self._damaged += 1
            self._contents.note(BLOCKS, "block", self._damaged, self._seen)
            return None

    def _read(self, start: int, stop: int) -> Iterator[tuple[int, Table]]:
        data, maker = self._contents.tables(start, stop), self._maker
        for each in schema_1.read(data, maker, self._lines) if self._is_old else maker.read(data):
            self._tables += 1
            if each is None:
                self._damaged_tables += 1
            else:
                yield each
        self._contents.note(TABLES, "table", self._damaged_tables, self._tables)
