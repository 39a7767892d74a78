"""Rows as columns: an array per scalar, so that many rows take little room and time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sickbay.chart.json_lines import EpochEnd, Row
from sickbay.errors import UsageError
from sickbay.history import History
from sickbay.vitals import Table, Vitals

Array: TypeAlias = NDArray[Any]
Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
TablesOf: TypeAlias = Callable[[int, int], Sequence[Table]]  # of rows, from and to

INTEGERS = ("steps", "epochs", "cuts")
MICRO = 1e6  # times are whole microseconds
LATEST = 1e12  # seconds up to which floats hold whole microseconds
ABSENT: Any = object()


@dataclass(frozen=True)
class Columns:
    """Readings as columns, and the ends of epochs among them, without tables.

    Attributes:
        steps: The step of each reading.
        epochs: The epoch of each.
        times: The time of each.
        scalars: For each scalar, which readings have it, and its values.
        ends: The ends of epochs.
        cuts: For each end, the number of readings before it.
    """

    steps: Integers
    epochs: Integers
    times: Floats
    scalars: Mapping[str, tuple[Integers, Floats]]
    ends: Sequence[EpochEnd]
    cuts: Integers

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

    def rows(self) -> Iterator[Row]:
        """Turn columns into rows again."""
        scalars: list[dict[str, float]] = [{} for _ in range(len(self.steps))]
        for name, (index, values) in self.scalars.items():
            for at, value in zip(index.tolist(), values.tolist(), strict=True):
                scalars[at][name] = value
        columns = self.steps.tolist(), self.epochs.tolist(), self.times.tolist(), scalars
        readings, start = map(Vitals, *columns), 0
        for cut, end in zip(self.cuts.tolist(), self.ends, strict=True):
            yield from islice(readings, cut - start)
            yield end
            start = cut
        yield from readings

    def counts(self) -> dict[str, int]:
        """Return how many values each scalar has."""
        return {name: len(values) for name, (_, values) in self.scalars.items()}

    def add_to(
        self, history: History, row: int, tables_of: TablesOf
    ) -> Iterator[tuple[float | None, bool]]:
        """Add everything to a history, all readings between two ends of epochs at once.

        `row` is the number of the first row. Yields the time of the newest reading, None if there
        is no new one, and whether an epoch has ended.
        """
        every = np.arange(len(self.steps) + 1)
        series = [  # with the number of values before each reading
            (name, self.steps[index].tolist(), values.tolist(), np.searchsorted(index, every))
            for name, (index, values) in self.scalars.items()
        ]
        start = 0
        for stop, end in [*zip(self.cuts.tolist(), self.ends, strict=True), (len(every) - 1, None)]:
            time = None
            if stop > start:
                scalars = {
                    name: (steps[first:last], values[first:last])
                    for name, steps, values, before in series
                    if (first := before[start]) < (last := before[stop])
                }
                tables = tables_of(row, row + stop - start)
                step, epoch = int(self.steps[start:stop].max()), int(self.epochs[stop - 1])
                history.extend(step, epoch, scalars, tables)
                time, row, start = float(self.times[stop - 1]), row + stop - start, stop
            if end is not None:
                history.end_epoch(**end.metrics)
                row += 1
            yield time, end is not None


def _scalars(rows: Sequence[Mapping[str, float]]) -> dict[str, tuple[Integers, Floats]]:
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


def to_arrays(columns: Columns) -> dict[str, Array]:
    """Return columns as named arrays, without the ends of epochs."""
    times = columns.times
    if np.isfinite(times).all() and (np.abs(times) < LATEST).all():
        times = np.rint(times * MICRO).astype("<i8")
    arrays: dict[str, Array] = {"steps": columns.steps, "epochs": columns.epochs}
    arrays |= {"times": times, "cuts": columns.cuts}
    for name, (index, values) in columns.scalars.items():
        if len(index) < len(columns.steps):
            arrays[f"index {name}"] = index
        arrays[f"value {name}"] = _narrow(values)
    return arrays


def _narrow(values: Floats) -> Array:
    """Return 32-bit floats if these hold each of the values exactly.

    >>> _narrow(np.array([0.5, np.nan])).dtype.itemsize, _narrow(np.array([0.1])).dtype.itemsize
    (4, 8)
    """
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = values.astype("<f4")
        same = (narrow == values) | np.isnan(values)
    return narrow if same.all() else values.astype("<f8")


def from_arrays(arrays: dict[str, Array], ends: tuple[EpochEnd, ...]) -> Columns:
    """Return the columns that `to_arrays` was given; a `UsageError` if they are damaged."""
    steps, epochs, cuts = (_integers(name, arrays.get(name)) for name in INTEGERS)
    count, times = len(steps), arrays.get("times", np.zeros(0))
    times = times / MICRO if times.dtype == np.int64 else times.astype(np.float64)
    if not len(epochs) == len(times) == count or len(cuts) != len(ends):
        raise UsageError("The columns differ in length.")
    _check_ascending(cuts, count, 0)
    scalars = {}
    for key, values in arrays.items():
        what, _, name = key.partition(" ")
        if what == "value":
            index = _integers("index", arrays.get(f"index {name}", np.arange(count)))
            if len(index) != len(values):
                raise UsageError("The columns differ in length.")
            _check_ascending(index, count - 1, 1)
            scalars[name] = index, values.astype(np.float64)
    return Columns(steps, epochs, times, scalars, ends, cuts)


def _integers(name: str, array: Array | None) -> Array:
    if array is None or array.dtype != np.int64:
        raise UsageError(f"{name} must be integers.")
    return array


def _check_ascending(places: Array, most: int, apart: int) -> None:
    """Check that places among the readings ascend and stay within them."""
    ascend = (np.diff(places) >= apart).all()
    if len(places) and not (ascend and places[0] >= 0 and places[-1] <= most):
        raise UsageError("Places in columns must ascend.")
