"""Blocks of rows: a binary record whose head is a summary and whose body holds columns.

A column is the array of one scalar. Columns are small and quick to read. The summary is enough to
go past a block, so reading the newest steps unpacks only the last blocks.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sickbay.arguments import check_int
from sickbay.chart import binary_records as binary
from sickbay.chart.binary_records import Array
from sickbay.chart.json_lines import EpochEnd, Row, encode, or_none
from sickbay.errors import UsageError
from sickbay.history import History
from sickbay.json_dataclasses import dataclass_from_json, json_object
from sickbay.safe_files import parse_json
from sickbay.scalar_totals import Totals
from sickbay.vitals import Table, Vitals

Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
TablesOf: TypeAlias = Callable[[int, int], Sequence[Table]]  # of rows, from and to

MAGIC = b"SBB2"
INTEGERS = ("steps", "epochs", "cuts")
MICRO = 1e6  # times are whole microseconds
LATEST = 1e12  # seconds up to which floats hold whole microseconds
ABSENT: Any = object()


@dataclass(frozen=True)
class Columns:
    """Readings as columns, and the ends of epochs among them, without tables."""

    steps: Integers
    epochs: Integers
    times: Floats
    scalars: Mapping[str, tuple[Integers, Floats]]  # which readings have a scalar, and its values
    ends: Sequence[EpochEnd]
    cuts: Integers  # for each end, the number of readings before it

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


@dataclass(frozen=True, kw_only=True)
class BlockSummary:
    """What there is to know of a block without unpacking its columns."""

    row: int  # the number of its first row
    rows: int
    start: int  # where its tables begin in their file, in bytes
    stop: int
    kinds: Mapping[str, int]  # how many tables it has of each kind
    counts: Mapping[str, int]  # how many values it has of each scalar
    ends: tuple[EpochEnd, ...]
    step: int  # the newest of the run so far
    epoch: int  # after the block
    totals: Totals  # what takes the totals of the run past it


@dataclass(frozen=True)
class Block:
    """A block whose summary was read."""

    summary: BlockSummary
    record: binary.Record

    def columns(self) -> Columns:
        """Unpack the columns; a `UsageError` if they are damaged."""
        columns = _from_arrays(binary.unpack_arrays(self.record.body()), self.summary.ends)
        if len(columns.steps) + len(columns.ends) != self.summary.rows:
            raise UsageError("The summary does not match the columns.")
        return columns

    def skip(self, history: History) -> None:
        """Take a history past the block."""
        history.skip(self.summary.step, self.summary.epoch, self.summary.totals)


def pack_block(columns: Columns, history: History, **place: object) -> bytes:
    """Return a block, and take the history of the run past it; its earlier epochs are forgotten.

    `place` gives the row, rows, start, stop and kinds of the summary.
    """
    totals = history.totals
    totals.epochs.clear()
    known = {name: len(values) for name, values in totals.first.items()}
    for _ in columns.add_to(history, 0, lambda *_: ()):
        pass
    first = {name: each for name, each in totals.first.items() if len(each) > known.get(name, 0)}
    summary = {
        "place": place,
        "counts": columns.counts(),
        "ends": [vars(end) for end in columns.ends],
        "step": history.step,
        "epoch": history.epoch,
        "totals": {**vars(totals), "first": first},
    }
    return binary.pack_record(
        MAGIC, zlib.compress(encode(summary), 1), binary.pack_arrays(_to_arrays(columns))
    )


def scan_blocks(data: bytes) -> Iterator[Block | None]:
    """Yield the blocks of a file, and None for each that is damaged."""
    return or_none(
        lambda record: Block(_read_summary(record.head()), record), binary.scan_records(data, MAGIC)
    )


def _read_summary(data: bytes) -> BlockSummary:
    values = json_object("summary", parse_json(binary.decompress(data), "summary"))
    summary = dataclass_from_json(
        BlockSummary, {**values, **json_object("place", values.get("place"))}
    )
    for name in ("row", "rows", "start"):
        check_int(name, getattr(summary, name), least=0)
    check_int("stop", summary.stop, least=summary.start)
    for counts in (summary.kinds, summary.counts):
        check_int("count", min(counts.values(), default=0), least=0)
    if not all(len(each) == 2 and each[1] >= 1 for each in summary.totals.sums.values()):
        raise UsageError("sums must have a total and a count each.")
    return summary


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


def _to_arrays(columns: Columns) -> dict[str, Array]:
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


def _from_arrays(arrays: dict[str, Array], ends: tuple[EpochEnd, ...]) -> Columns:
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
