"""Rows as bytes: a block holds many of them in columns, and a digest of itself.

header   magic, bytes of both parts, their checksums, checksum of all this
digest   zlib of JSON: what a history keeps of the block for good
body     bytes of the list, list, columns; the list is zlib of JSON: ends of epochs and columns,
         a column is zlib of the bytes that `arrays` makes of it

Who wants the newest steps only can so go past a block without looking into its columns.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from struct import Struct
from typing import Any

import numpy as np

from sickbay.arguments import one_of, whole
from sickbay.chart.arrays import ORDERS, WIDTHS, Array, smallest, squeeze, unsqueeze
from sickbay.chart.columns import Columns, Floats
from sickbay.chart.digest import Digest
from sickbay.chart.format import Line, encode, to_json
from sickbay.chart.frames import frames
from sickbay.chart.rows import EpochEnd
from sickbay.errors import UsageError
from sickbay.fields import mapping, revived, sequence
from sickbay.files import parsed

MAGIC = b"SBB2"
HEADER = Struct("<4sIIIII")
MOST_ROWS = 1 << 14  # of a block
MOST_BYTES = 1 << 26  # of a part when it is unpacked, far above what is written
MOST_TABLES = 1 << 20  # of a reading, so that no sum of them overflows
MICRO = 1e6  # times are whole microseconds
LATEST = 1e12  # seconds that still are whole microseconds as floats


@dataclass(frozen=True)
class Block:
    """A block of which the header and the digest were read."""

    digest: Digest
    start: int  # of the body
    stop: int
    checksum: int

    def columns(self, data: bytes) -> Columns:
        """Return what is in it, out of the whole file; a `UsageError` if it is damaged."""
        body = data[self.start : self.stop]
        if zlib.crc32(body) != self.checksum:
            raise UsageError("The checksum does not fit.")
        size = int.from_bytes(body[:4], "little")
        told = mapping("list", parsed(_inflated(body[4 : 4 + size], MOST_BYTES), "list"))
        listed = [revived(_Column, each) for each in sequence("columns", told.get("columns"))]
        found = dict(_arrays(listed, body[4 + size :]))
        return _columns(found, told.get("ends"))


def pack(digest: Line, columns: Columns) -> bytes:
    """Return a block."""
    head, body = zlib.compress(encode(digest), 1), _packed(columns)
    header = HEADER.pack(MAGIC, len(head), len(body), zlib.crc32(head), zlib.crc32(body), 0)[:-4]
    return header + zlib.crc32(header).to_bytes(4, "little") + head + body


def scan(data: bytes) -> Iterator[Block | None]:
    """Yield the blocks of a file, and None for each that is damaged."""
    for frame in frames(data, _header, MAGIC, HEADER.size):
        block = None
        with suppress(UsageError):
            block = None if frame is None else frame.block(data)
        yield block


@dataclass(frozen=True)
class _Frame:
    start: int  # of the digest
    body: int
    stop: int
    checksums: tuple[int, int]

    def block(self, data: bytes) -> Block:
        head = data[self.start : self.body]
        if zlib.crc32(head) != self.checksums[0]:
            raise UsageError("The checksum does not fit.")
        digest = Digest.read(parsed(_inflated(head, MOST_BYTES), "digest"))
        return Block(digest, self.body, self.stop, self.checksums[1])


def _header(data: bytes, place: int) -> _Frame | None:
    start = place + HEADER.size
    magic, digest, body, *checksums, whole = HEADER.unpack(data[place:start])
    if magic != MAGIC or whole != zlib.crc32(data[place : start - 4]):
        return None
    return _Frame(start, start + digest, start + digest + body, (checksums[0], checksums[1]))


@dataclass(frozen=True, kw_only=True)
class _Column:
    """An entry of the list: an array of a block, as bytes."""

    what: str
    name: str = ""
    kind: str
    order: int
    count: int
    size: int


@dataclass(frozen=True, kw_only=True)
class _End:
    """An entry of the list: an end of an epoch, after so many readings of the block."""

    after: int
    epoch: int
    metrics: Mapping[str, float]


def _packed(columns: Columns) -> bytes:
    listed, parts = [], []
    for (what, name), array in _named(columns):
        order, data = squeeze(array)
        parts.append(zlib.compress(data, 1))
        sizes = {"order": order, "count": len(array), "size": len(parts[-1])}
        listed.append({"what": what, "name": name, "kind": array.dtype.str, **sizes})
    ends = [
        {"after": after, "epoch": end.epoch, "metrics": to_json(end.metrics)}
        for after, end in columns.ends
    ]
    told = zlib.compress(encode({"columns": listed, "ends": ends}), 1)
    return len(told).to_bytes(4, "little") + told + b"".join(parts)


def _named(columns: Columns) -> Iterator[tuple[tuple[str, str], Array]]:
    yield ("step", ""), columns.steps
    yield ("epoch", ""), columns.epochs
    yield ("time", ""), _shortened(columns.times)
    yield ("tables", ""), columns.tables
    for name, (index, values) in columns.scalars.items():
        if len(index) < len(columns.steps):
            mask = np.zeros(len(columns.steps), bool)
            mask[index] = True
            yield ("mask", name), np.packbits(mask)
        yield ("value", name), smallest(values)


def _shortened(times: Floats) -> Array:
    is_usual = np.isfinite(times).all() and (np.abs(times) < LATEST).all()
    return np.rint(times * MICRO).astype("<i8") if is_usual else times


def _arrays(listed: list[_Column], data: bytes) -> Iterator[tuple[tuple[str, str], Array]]:
    if sum(each.count * 8 for each in listed) > MOST_BYTES:
        raise UsageError("The columns are too large.")
    for each in listed:
        kind = one_of("kind", each.kind, WIDTHS)
        count = whole("count", each.count, least=0, most=MOST_ROWS)
        size = whole("size", each.size, least=0, most=len(data))
        plain = _inflated(data[:size], count * WIDTHS[kind], exactly=True)
        data = data[size:]
        order = whole("order", each.order, least=0, most=max(ORDERS))
        yield (each.what, each.name), unsqueeze(plain, kind, order)


def _columns(found: dict[tuple[str, str], Array], ends: Any) -> Columns:
    steps, epochs, tables = (_fixed(found, what) for what in ("step", "epoch", "tables"))
    times = found.get(("time", ""), np.zeros(0))
    times = times / MICRO if times.dtype == np.int64 else times.astype(np.float64)
    count = len(steps)
    if not len(epochs) == len(tables) == len(times) == count:
        raise UsageError("The columns differ in length.")
    if (tables < 0).any() or (tables > MOST_TABLES).any():
        raise UsageError("The columns hold what cannot be.")
    scalars = {}
    for (what, name), values in found.items():
        if what == "value":
            mask = found.get(("mask", name))
            index = np.arange(count) if mask is None else _places(mask, count)
            if len(index) != len(values):
                raise UsageError("The columns differ in length.")
            scalars[name] = index, values.astype(np.float64)
    return Columns(steps, epochs, times, tables, scalars, _ends(ends, count))


def _fixed(found: dict[tuple[str, str], Array], what: str) -> Array:
    array = found.get((what, ""), np.zeros(0))
    if array.dtype != np.int64:
        raise UsageError(f"The column {what!r} is none of whole numbers.")
    return array


def _places(mask: Array, count: int) -> Array:
    if mask.dtype != np.uint8 or len(mask) != -(-count // 8):
        raise UsageError("The columns differ in length.")
    return np.flatnonzero(np.unpackbits(mask, count=count))


def _ends(told: Any, count: int) -> list[tuple[int, EpochEnd]]:
    ends, last = [], 0
    for each in sequence("ends", told):
        end = revived(_End, each)
        last = whole("after", end.after, least=last, most=count)
        ends.append((last, EpochEnd(end.epoch, end.metrics)))
    return ends


def _inflated(data: bytes, most: int, exactly: bool = False) -> bytes:
    unpacking = zlib.decompressobj()
    try:
        plain = unpacking.decompress(data, most + 1)
    except zlib.error as error:
        raise UsageError(f"It cannot be unpacked ({error}).") from None
    if not unpacking.eof or len(plain) > most or (exactly and len(plain) < most):
        raise UsageError("It has another size than it says.")
    return plain
