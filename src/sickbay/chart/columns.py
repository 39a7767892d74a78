"""Rows turned into columns, and back: a column is an array, so many rows cost little."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sickbay.history import History
from sickbay.readings import Table, Vitals

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

    def rows(self) -> Iterator[Row]:
        """Turn columns into rows."""
        fixed = (each.tolist() for each in (self.steps, self.epochs, self.times))
        readings = map(Vitals, *fixed, self._by_row())
        done = 0
        for cut, end in zip(self.cuts.tolist(), self.ends, strict=True):
            yield from islice(readings, cut - done)
            yield end
            done = cut
        yield from readings

    def play(self, history: History, row: int, fetch: Fetch) -> Iterator[tuple[float | None, bool]]:
        """Add everything to a history, as much as possible at once; `row` is the first one.

        Yields the time of the newest reading, if there is one, and whether an epoch has ended.
        """
        cuts = [0, *self.cuts.tolist(), len(self.steps)]
        steps = self.steps.tolist()
        series = [
            (name, self.steps[index].tolist(), values.tolist(), np.searchsorted(index, cuts))
            for name, (index, values) in self.scalars.items()
        ]
        for number, (start, stop) in enumerate(pairwise(cuts)):
            if stop > start:
                scalars = {
                    name: (at[slice(*places)], values[slice(*places)])
                    for name, at, values, cut in series
                    if (places := cut[number : number + 2])[0] < places[1]
                }
                tables = fetch(row + number + start, row + number + stop)
                history.extend(max(steps[start:stop]), int(self.epochs[stop - 1]), scalars, tables)
            if number < len(self.ends):
                history.end_epoch(**self.ends[number].metrics)
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
