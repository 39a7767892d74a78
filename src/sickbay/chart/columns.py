"""Rows turned into columns, and back: a column is an array, so many rows cost little."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sickbay.chart.rows import EpochEnd, Row, Step
from sickbay.history import History
from sickbay.readings import Table, Vitals

Whole: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Fetch: TypeAlias = Callable[[int, int], Iterable[Table]]  # tables by their numbers, from and to

ABSENT: Any = object()


def no_tables(_start: int, _stop: int) -> tuple[Table, ...]:
    """Fetch no tables at all."""
    return ()


@dataclass(frozen=True)
class Columns:
    """Readings as columns, and the ends of epochs among them.

    Attributes:
        steps: Of each reading, its step.
        epochs: Its epoch.
        times: Its time.
        tables: How many tables it has.
        scalars: For each scalar, which readings have it, and the values.
        ends: Each end of an epoch, with the number of readings before it.
    """

    steps: Whole
    epochs: Whole
    times: Floats
    tables: Whole
    scalars: Mapping[str, tuple[Whole, Floats]]
    ends: Sequence[tuple[int, EpochEnd]]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Columns:
        """Turn rows into columns."""
        steps = [row for row in rows if isinstance(row, Step)]
        vitals = [step.vitals for step in steps]
        counted, ends = 0, []
        for row in rows:
            if isinstance(row, EpochEnd):
                ends.append((counted, row))
            else:
                counted += 1
        return cls(
            np.array([each.step for each in vitals], np.int64),
            np.array([each.epoch for each in vitals], np.int64),
            np.array([each.time for each in vitals], np.float64),
            np.array([each.tables for each in steps], np.int64),
            _scalars([each.scalars for each in vitals]),
            ends,
        )

    def rows(self, table: int) -> Iterator[Row]:
        """Turn columns into rows; `table` is the number of the first table."""
        fixed = (self.steps, self.epochs, self.times, self.tables)
        steps = zip(*(each.tolist() for each in fixed), strict=True)
        readings = zip(steps, self._by_row(), strict=True)
        done = 0
        for before, end in [*self.ends, (len(self.steps), None)]:
            for (step, epoch, time, tables), scalars in islice(readings, before - done):
                yield Step(Vitals(step, epoch, time, scalars), table, tables)
                table += tables
            done = before
            if end is not None:
                yield end

    def play(
        self, history: History, table: int, fetch: Fetch
    ) -> Iterator[tuple[float | None, bool]]:
        """Add everything to a history, as much as possible at once.

        Yields the time of the newest reading, if there is one, and whether an epoch has ended.
        """
        cuts = [0, *(before for before, _ in self.ends), len(self.steps)]
        steps, tables = self.steps.tolist(), np.cumsum([0, *self.tables.tolist()]) + table
        series = [
            (
                name,
                self.steps[index].tolist(),
                values.tolist(),
                np.searchsorted(index, cuts).tolist(),
            )
            for name, (index, values) in self.scalars.items()
        ]
        for number, (start, stop) in enumerate(pairwise(cuts)):
            if stop > start:
                scalars = {
                    name: (
                        at[places[number] : places[number + 1]],
                        values[places[number] : places[number + 1]],
                    )
                    for name, at, values, places in series
                    if places[number + 1] > places[number]
                }
                found = fetch(int(tables[start]), int(tables[stop]))
                history.extend(max(steps[start:stop]), int(self.epochs[stop - 1]), scalars, found)
            if number < len(self.ends):
                history.end_epoch(**self.ends[number][1].metrics)
            yield float(self.times[stop - 1]) if stop > start else None, number < len(self.ends)

    def _by_row(self) -> Iterator[dict[str, float]]:
        if not self.scalars:
            return ({} for _ in self.steps)
        full = []
        for index, values in self.scalars.values():
            column = np.full(len(self.steps), ABSENT, object)
            column[index] = values.tolist()
            full.append(column.tolist())
        names = list(self.scalars)
        return (
            {name: value for name, value in zip(names, row, strict=True) if value is not ABSENT}
            for row in zip(*full, strict=True)
        )


def _scalars(rows: Sequence[Mapping[str, float]]) -> dict[str, tuple[Whole, Floats]]:
    every = np.arange(len(rows))
    columns = {}
    for name in dict.fromkeys(chain.from_iterable(rows)):
        values = [row.get(name, ABSENT) for row in rows]
        index = every
        if ABSENT in values:
            index = np.array([at for at, value in enumerate(values) if value is not ABSENT])
            values = [value for value in values if value is not ABSENT]
        columns[name] = index, np.array([float(value) for value in values])
    return columns
