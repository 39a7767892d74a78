"""A charted run that happens again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from sickbay.chart.blocks import Block
from sickbay.chart.columns import Columns
from sickbay.chart.contents import Contents
from sickbay.chart.format import BLOCKS, TABLES
from sickbay.chart.rows import EpochEnd, Row, Step
from sickbay.chart.tables import Reader
from sickbay.errors import UsageError
from sickbay.history import History
from sickbay.readings import Table

Moment = tuple[float | None, bool]  # time of the newest reading if there is one; is an epoch over?


class Supply:
    """Tables in the order of their numbers, taken as they are needed."""

    def __init__(self, tables: Iterator[tuple[int, Table]]) -> None:
        self._tables = tables
        self._next = next(tables, None)

    def fetch(self, start: int, stop: int) -> list[Table]:
        """Return the tables with the numbers from `start` to before `stop` that there are."""
        found = []
        while self._next is not None and self._next[0] < stop:
            if self._next[0] >= start:
                found.append(self._next[1])
            self._next = next(self._tables, None)
        return found

    def next_from(self, number: int, step: int) -> int:
        """Return the number of the next table that is not older than a step."""
        while self._next is not None and (self._next[0] < number or self._next[1].step < step):
            self._next = next(self._tables, None)
        return number if self._next is None else self._next[0]


class Run:
    """Steps, ends of epochs and tables as they are on disk at this moment."""

    def __init__(self, contents: Contents, statistics: Sequence[str], schema: int) -> None:
        # Read in the reverse order of writing, so that no step lacks its tables.
        self._contents = contents
        self._scalars = contents.scalars()
        self._is_numbered = schema > 1
        self._reader = Reader(contents.events().names, statistics)

    def values(self, window: int) -> int:
        """Return how many values of scalars a history with this window holds."""
        counts: Counter[str] = Counter()
        for block in self._scalars.blocks:
            counts.update(block.digest.counts)
        return sum(min(window, count) for count in counts.values())

    def play(self, history: History, newest: int | None = None) -> Iterator[Moment]:
        """Add everything to a history, as much as possible at once.

        If only the newest of each scalar and table kind are wanted, blocks without any of them are
        gone past.
        """
        needed = None if newest is None else self._needed(newest)
        for index, block in enumerate(self._scalars.blocks):
            columns = self._columns(block) if needed is None or index in needed else None
            if columns is None:
                block.digest.skip(history)
            else:
                yield from columns.play(history, block.digest.table, self._supply(block).fetch)
        yield from self._last(history)

    def rows(self, history: History) -> Iterator[Moment]:
        """Add everything to a history, row by row."""
        for block in self._scalars.blocks:
            columns = self._columns(block)
            if columns is None:
                block.digest.skip(history)
                continue
            supply = self._supply(block)
            for row in columns.rows(block.digest.table):
                yield _add(history, row, supply)
        yield from self._last(history)

    def _last(self, history: History) -> Iterator[Moment]:
        """Add the rows that are in no block."""
        last = self._scalars.blocks[-1].digest if self._scalars.blocks else None
        start, number = (
            (0, 0) if last is None else (last.until, last.table + sum(last.kinds.values()))
        )
        supply = self._supplied(start, None, number)
        moved, is_unsure = 0, False  # tables that belong to damaged rows, in charts of schema 1
        for row in self._scalars.rows:
            if row is None:
                is_unsure = True
                continue
            if isinstance(row, Step) and row.tables:
                if is_unsure and not self._is_numbered:
                    moved = supply.next_from(row.table + moved, row.vitals.step) - row.table
                    is_unsure = False
                row = Step(row.vitals, row.table + moved, row.tables)
            yield _add(history, row, supply)

    def _needed(self, newest: int) -> set[int]:
        """Return the blocks that have some of the newest of a scalar or of a kind of table."""
        needed: set[int] = set()
        known: Counter[tuple[str, str]] = Counter()
        for row in self._scalars.rows:
            if isinstance(row, Step):
                known.update(("scalar", name) for name in row.vitals.scalars)
        for index, block in reversed(list(enumerate(self._scalars.blocks))):
            here = {("scalar", name): count for name, count in block.digest.counts.items()}
            here |= {("table", kind): count for kind, count in block.digest.kinds.items()}
            if any(count and known[what] < newest for what, count in here.items()):
                needed.add(index)
                known.update(here)
        return needed

    def _columns(self, block: Block) -> Columns | None:
        try:
            return block.columns(self._scalars.data)
        except UsageError:
            self._scalars.damaged += 1
            self._contents.note(BLOCKS, "block", self._scalars.damaged, self._scalars.seen)
            return None

    def _supply(self, block: Block) -> Supply:
        digest = block.digest
        if digest.at == digest.until:
            return Supply(iter(()))
        return self._supplied(digest.at, digest.until, digest.table)

    def _supplied(self, start: int, stop: int | None, number: int) -> Supply:
        reader = self._reader

        def tables() -> Iterator[tuple[int, Table]]:
            yield from reader.read(self._contents.tables(start, stop), number)
            self._contents.note(TABLES, "table", reader.damaged, reader.seen)

        return Supply(tables())


def _add(history: History, row: Row, supply: Supply) -> Moment:
    if isinstance(row, EpochEnd):
        history.end_epoch(**row.metrics)
        return None, True
    vitals = row.vitals
    vitals.tables = supply.fetch(row.table, row.table + row.tables) if row.tables else ()
    history.append(vitals)
    return vitals.time, False
