"""Rows turned into columns, and back: a column is an array, so many rows cost little."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sickbay.history import History
from sickbay.vitals import Table, Vitals

Whole: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Fetch: TypeAlias = Callable[[int, int], Iterable[Table]]  # tables by their rows, from and to

ABSENT: Any = object()


@dataclass
class EpochEnd:
    """The end of an epoch, with what was measured over all of it."""

    epoch: int
    metrics: Mapping[str, float]


Row: TypeAlias = Vitals | EpochEnd


@dataclass(frozen=True)
class Columns:
    """Readings as columns, and the ends of epochs among them; tables are elsewhere.

    Attributes:
        steps: Of each reading, its step.
        epochs: Its epoch.
        times: Its time.
        scalars: For each scalar, which readings have it, and the values.
        ends: The ends of epochs.
        cuts: Of each end, the number of readings before it.
    """

    steps: Whole
    epochs: Whole
    times: Floats
    scalars: Mapping[str, tuple[Whole, Floats]]
    ends: Sequence[EpochEnd]
    cuts: Whole

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Columns:
        """Turn rows into columns."""
        readings = [row for row in rows if isinstance(row, Vitals)]
        ends = [(at, row) for at, row in enumerate(rows) if isinstance(row, EpochEnd)]
        return cls(
            np.array([each.step for each in readings], np.int64),
            np.array([each.epoch for each in readings], np.int64),
            np.array([each.time for each in readings], np.float64),
            _scalars([each.scalars for each in readings]),
            [end for _, end in ends],
            np.array([at - before for before, (at, _) in enumerate(ends)], np.int64),
        )

    def counts(self) -> dict[str, int]:
        """Return how many values each scalar has."""
        return {name: len(values) for name, (_, values) in self.scalars.items()}

    def play(
        self, history: History, row: int, fetch: Fetch, by_row: bool = False
    ) -> Iterator[tuple[float | None, bool]]:
        """Add everything to a history, row by row or as much as possible at once.

        `row` is the number of the first row. Yields the time of the newest reading, if there is
        one, and whether an epoch has ended.
        """
        series = [
            (name, self.steps[index].tolist(), values.tolist(), self._places(index))
            for name, (index, values) in self.scalars.items()
        ]
        for start, stop, end in self._stretches(by_row):
            if stop > start:
                scalars = {
                    name: (steps[first:last], values[first:last])
                    for name, steps, values, places in series
                    if (first := places[start]) < (last := places[stop])
                }
                tables = fetch(row, row + stop - start)
                step, epoch = int(self.steps[start:stop].max()), int(self.epochs[stop - 1])
                history.extend(step, epoch, scalars, tables)
                row += stop - start
            if end is not None:
                history.end_epoch(**end.metrics)
                row += 1
            yield float(self.times[stop - 1]) if stop > start else None, end is not None

    def _places(self, index: Whole) -> Whole:
        """Return, for each number of readings, how many of these have a scalar."""
        return np.searchsorted(index, np.arange(len(self.steps) + 1))

    def _stretches(self, by_row: bool) -> Iterator[tuple[int, int, EpochEnd | None]]:
        """Yield the readings that are added together, from and to, and the end after them."""
        start = 0
        for stop, end in [
            *zip(self.cuts.tolist(), self.ends, strict=True),
            (len(self.steps), None),
        ]:
            if by_row:
                yield from ((at, at + 1, None) for at in range(start, stop))
                start = stop
            if stop > start or end is not None:
                yield start, stop, end
            start = stop


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
