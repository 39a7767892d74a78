"""Blocks of rows: a binary record whose head is a digest and whose body holds the columns.

The digest is enough to go past a block, so reading the newest steps unpacks only the last blocks.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sickbay.arguments import check_int
from sickbay.chart.binary_records import (
    Record,
    decompress,
    pack_arrays,
    pack_record,
    scan_records,
    unpack_arrays,
)
from sickbay.chart.columns import Columns, from_arrays, to_arrays
from sickbay.chart.json_lines import EpochEnd, encode, or_none
from sickbay.errors import UsageError
from sickbay.history import History
from sickbay.json_dataclasses import dataclass_from_json, json_object
from sickbay.safe_files import parse_json
from sickbay.scalar_totals import Totals

MAGIC = b"SBB2"


@dataclass(frozen=True, kw_only=True)
class Digest:
    """What there is to know of a block without unpacking its columns.

    Attributes:
        row: Number of its first row.
        rows: How many rows it has.
        start: Where its tables begin in their file, in bytes.
        stop: Where they end.
        kinds: How many tables it has of each kind.
        counts: How many values each scalar has in it.
        ends: The ends of epochs in it.
        step: The newest step of the run so far.
        epoch: The epoch after it.
        totals: What takes the totals of the run past it.
    """

    row: int
    rows: int
    start: int
    stop: int
    kinds: Mapping[str, int]
    counts: Mapping[str, int]
    ends: tuple[EpochEnd, ...]
    step: int
    epoch: int
    totals: Totals


@dataclass(frozen=True)
class Block:
    """A block whose digest was read."""

    digest: Digest
    record: Record

    def columns(self) -> Columns:
        """Unpack the columns; a `UsageError` if they are damaged."""
        columns = from_arrays(unpack_arrays(self.record.body()), self.digest.ends)
        if len(columns.steps) + len(columns.ends) != self.digest.rows:
            raise UsageError("The digest is not of these columns.")
        return columns

    def skip(self, history: History) -> None:
        """Take a history past the block."""
        history.skip(self.digest.step, self.digest.epoch, self.digest.totals)


def pack_block(columns: Columns, history: History, **place: object) -> bytes:
    """Return a block, and take the history of the run past it; its earlier epochs are forgotten.

    `place` gives the row, rows, start, stop and kinds of the digest.
    """
    totals = history.totals
    totals.epochs.clear()
    known = {name: len(values) for name, values in totals.first.items()}
    for _ in columns.add_to(history, 0, lambda *_: ()):
        pass
    first = {name: each for name, each in totals.first.items() if len(each) > known.get(name, 0)}
    digest = {
        "place": place,
        "counts": columns.counts(),
        "ends": [vars(end) for end in columns.ends],
        "step": history.step,
        "epoch": history.epoch,
        "totals": {**vars(totals), "first": first},
    }
    return pack_record(MAGIC, zlib.compress(encode(digest), 1), pack_arrays(to_arrays(columns)))


def scan_blocks(data: bytes) -> Iterator[Block | None]:
    """Yield the blocks of a file, and None for each that is damaged."""
    return or_none(
        lambda record: Block(_read_digest(record.head()), record), scan_records(data, MAGIC)
    )


def _read_digest(data: bytes) -> Digest:
    values = json_object("digest", parse_json(decompress(data), "digest"))
    digest = dataclass_from_json(Digest, {**values, **json_object("place", values.get("place"))})
    for name in ("row", "rows", "start"):
        check_int(name, getattr(digest, name), least=0)
    check_int("stop", digest.stop, least=digest.start)
    for counts in (digest.kinds, digest.counts):
        check_int("count", min(counts.values(), default=0), least=0)
    if not all(len(each) == 2 and each[1] >= 1 for each in digest.totals.sums.values()):
        raise UsageError("sums must have a total and a count each.")
    return digest
