"""Blocks of rows: a record whose head is a digest, and whose body are the columns.

Who wants the newest steps only can so go past a block without looking into its columns.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from sickbay.arguments import check_int
from sickbay.chart import pack_arrays, record_frames
from sickbay.chart.columns import Columns, EpochEnd
from sickbay.chart.format import encode, sound
from sickbay.chart.pack_arrays import Array
from sickbay.errors import UsageError
from sickbay.history import History
from sickbay.json_dataclasses import dataclass_from_json
from sickbay.safe_files import parse_json
from sickbay.scalar_totals import Totals

MAGIC = b"SBB2"
MICRO = 1e6  # times are whole microseconds
LATEST = 1e12  # seconds that still are whole microseconds as floats


@dataclass(frozen=True)
class Place:
    """Where a block belongs in the run, and where its tables are in their file.

    Attributes:
        row: Number of its first row.
        rows: How many rows it has.
        start: Where its tables begin, in bytes.
        stop: Where they end.
        kinds: How many tables it has of each kind.
    """

    row: int
    rows: int
    start: int
    stop: int
    kinds: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Digest:
    """What there is to know of a block without looking into its columns.

    Attributes:
        place: Where it belongs.
        counts: How many values each scalar has in it.
        ends: The ends of epochs in it.
        step: The newest step of the run until here.
        epoch: The epoch that the run is in after it.
        totals: What takes the totals of the run past it.
    """

    place: Place
    counts: Mapping[str, int]
    ends: tuple[EpochEnd, ...]
    step: int
    epoch: int
    totals: Totals


@dataclass(frozen=True)
class Block:
    """A block of which the digest was read."""

    digest: Digest
    frame: record_frames.Frame

    def columns(self) -> Columns:
        """Return what is in it; a `UsageError` if it is damaged."""
        columns = _columns(pack_arrays.unpack(self.frame.body()), self.digest.ends)
        if len(columns.steps) + len(columns.ends) != self.digest.place.rows:
            raise UsageError("The digest is not of these columns.")
        return columns

    def skip(self, history: History) -> None:
        """Take a history past the block."""
        history.skip(self.digest.step, self.digest.epoch, self.digest.totals)


def pack(place: Place, columns: Columns, history: History) -> bytes:
    """Return a block; the history of the run goes past it, and forgets the epochs before."""
    totals = history.totals
    totals.epochs.clear()
    known = {name: len(values) for name, values in totals.first.items()}
    for _ in columns.play(history, 0, lambda *_: ()):
        pass
    first = {name: each for name, each in totals.first.items() if len(each) > known.get(name, 0)}
    digest = {
        "place": vars(place),
        "counts": columns.counts(),
        "ends": [vars(end) for end in columns.ends],
        "step": history.step,
        "epoch": history.epoch,
        "totals": {**vars(totals), "first": first},
    }
    return record_frames.pack(
        MAGIC, zlib.compress(encode(digest), 1), pack_arrays.pack(_arrays(columns))
    )


def scan(data: bytes) -> Iterator[Block | None]:
    """Yield the blocks of a file, and None for each that is damaged."""
    read = record_frames.scan(data, MAGIC)
    return sound(lambda frame: Block(_digest(frame.head()), frame), read)


def _digest(data: bytes) -> Digest:
    made = dataclass_from_json(Digest, parse_json(pack_arrays.inflated(data), "digest"))
    place = made.place
    for name in ("row", "rows", "start"):
        check_int(name, getattr(place, name), least=0)
    check_int("stop", place.stop, least=place.start)
    for counts in (place.kinds, made.counts):
        check_int("count", min(counts.values(), default=0), least=0)
    if not all(len(each) == 2 and each[1] >= 1 for each in made.totals.sums.values()):
        raise UsageError("sums must have a total and a count each.")
    return made


def _arrays(columns: Columns) -> dict[str, Array]:
    times = columns.times
    if np.isfinite(times).all() and (np.abs(times) < LATEST).all():
        times = np.rint(times * MICRO).astype("<i8")
    found: dict[str, Array] = {"steps": columns.steps, "epochs": columns.epochs}
    found |= {"times": times, "cuts": columns.cuts}
    for name, (index, values) in columns.scalars.items():
        if len(index) < len(columns.steps):
            found[f"index {name}"] = index
        found[f"value {name}"] = pack_arrays.smallest(values)
    return found


def _columns(found: dict[str, Array], ends: tuple[EpochEnd, ...]) -> Columns:
    steps, epochs, cuts = (_whole(found, name) for name in ("steps", "epochs", "cuts"))
    count, times = len(steps), found.get("times", np.zeros(0))
    times = times / MICRO if times.dtype == np.int64 else times.astype(np.float64)
    if not len(epochs) == len(times) == count or len(cuts) != len(ends):
        raise UsageError("The columns differ in length.")
    _check_order(cuts, count, 0)
    scalars = {}
    for key, values in found.items():
        what, _, name = key.partition(" ")
        if what == "value":
            scalars[name] = _index(found, name, values, count), values.astype(np.float64)
    return Columns(steps, epochs, times, scalars, ends, cuts)


def _whole(found: dict[str, Array], name: str) -> Array:
    array = found.get(name, np.zeros(0))
    if array.dtype != np.int64:
        raise UsageError(f"{name} must be whole numbers.")
    return array


def _index(found: dict[str, Array], name: str, values: Array, count: int) -> Array:
    """Return which readings have a scalar."""
    key = f"index {name}"
    index = _whole(found, key) if key in found else np.arange(count)
    if len(index) != len(values):
        raise UsageError("The columns differ in length.")
    _check_order(index, count - 1, 1)
    return index


def _check_order(places: Array, most: int, apart: int) -> None:
    """Check that places among the readings ascend, and are none beyond them."""
    ascend = (np.diff(places) >= apart).all()
    if len(places) and not (ascend and places[0] >= 0 and places[-1] <= most):
        raise UsageError("Places in columns must ascend.")
