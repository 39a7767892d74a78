"""Binary records with checksums, found again in damaged or torn bytes; and packed arrays.

A record is a header (magic, sizes and checksums of both parts, checksum of the header), a head that
describes the body, and the body.

Packed arrays are small if their numbers barely change from one to the next. The bits of the numbers
are taken as integers. Of these, their differences and their second differences, whichever
compresses best is kept: first the lowest byte of all numbers, last the highest, so that zlib meets
long runs. A line of JSON in front lists the arrays.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from struct import Struct
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sickbay.arguments import check_choice, check_int
from sickbay.chart.json_lines import encode
from sickbay.errors import UsageError
from sickbay.json_dataclasses import dataclass_from_json, json_list
from sickbay.safe_files import parse_json

Array: TypeAlias = NDArray[Any]
HEADER = Struct("<4sIIIII")
WIDTHS = {"<f4": 4, "<f8": 8, "<i8": 8}  # bytes of the types of arrays
MOST_BYTES = 1 << 26  # of unpacked data, far above what is written
MOST_ORDER = 2  # how many times differences are taken
SAMPLE = 256  # numbers that decide the order


@dataclass(frozen=True)
class Record:
    """A record with a sound header, in the bytes of its file."""

    data: bytes
    start: int  # of the head
    middle: int  # where the body begins
    stop: int
    checksums: tuple[int, int]
    seed: int = 0  # of the checksum of the body

    def head(self) -> bytes:
        """Return the head; a `UsageError` if it is damaged."""
        return _check(self.data[self.start : self.middle], self.checksums[0])

    def body(self) -> bytes:
        """Return the body; a `UsageError` if it is damaged."""
        return _check(self.data[self.middle : self.stop], self.checksums[1], self.seed)


@dataclass(frozen=True, kw_only=True)
class _ArrayInfo:
    name: str
    kind: str
    order: int
    count: int


def pack_record(magic: bytes, head: bytes, body: bytes) -> bytes:
    """Return a record."""
    header = HEADER.pack(magic, len(head), len(body), crc32(head), crc32(body), 0)[:-4]
    return header + crc32(header).to_bytes(4, "little") + head + body


def read_header(data: bytes, place: int) -> Record | None:
    """Return the record at a place, None if its header is damaged."""
    start = place + HEADER.size
    _, head, body, *checksums, checksum = HEADER.unpack(data[place:start])
    if checksum != crc32(data[place : start - 4]):
        return None
    return Record(data, start, start + head, start + head + body, (checksums[0], checksums[1]))


def scan_records(
    data: bytes,
    magic: bytes,
    read: Callable[[bytes, int], Record | None] = read_header,
    size: int = HEADER.size,
) -> Iterator[Record | None]:
    """Yield every record, and None where a header is damaged; then go on at the next `magic`.

    A record or header that ends beyond the data is being written, or was when its process was
    killed. It ends the scan.
    """
    place = 0
    while len(data) - place >= size:
        record = read(data, place) if data.startswith(magic, place) else None
        if record is None:
            yield None
            place = data.find(magic, place + 1)
            if place < 0:
                return
        elif record.stop > len(data):
            return
        else:
            yield record
            place = record.stop


def pack_arrays(arrays: Mapping[str, Array]) -> bytes:
    """Return arrays as bytes.

    >>> packed = pack_arrays({"steps": np.arange(1000), "losses": np.full(1000, 0.1)})
    >>> len(packed) < 250, float(unpack_arrays(packed)["losses"][-1])
    (True, 0.1)
    """
    infos, parts = [], []
    for name, array in arrays.items():
        orders = [array.view(f"<u{array.itemsize}")]
        for _ in range(MOST_ORDER):
            orders.append(np.diff(orders[-1], prepend=orders[0].dtype.type(0)))
        sizes = [len(zlib.compress(_planes(bits[:SAMPLE]), 1)) for bits in orders]
        order = sizes.index(min(sizes))
        parts.append(_planes(orders[order]))
        kind = array.dtype.str
        infos.append({"name": name, "kind": kind, "order": order, "count": len(array)})
    return zlib.compress(encode(infos) + b"".join(parts), 1)


def unpack_arrays(data: bytes) -> dict[str, Array]:
    """Return the arrays that `pack_arrays` was given; a `UsageError` if the data is damaged."""
    infos, _, planes = decompress(data).partition(b"\n")
    arrays, place = {}, 0
    for values in json_list("arrays", parse_json(infos, "arrays")):
        info = dataclass_from_json(_ArrayInfo, values)
        order = check_int("order", info.order, least=0, most=MOST_ORDER)
        count = check_int("count", info.count, least=0, most=MOST_BYTES)
        width = WIDTHS[check_choice("kind", info.kind, WIDTHS)]
        start, place = place, place + count * width
        if place > len(planes):
            raise UsageError("The arrays are longer than their bytes.")
        plane = np.frombuffer(planes[start:place], "u1").reshape(width, -1)
        bits: Array = np.ascontiguousarray(plane.T).view(f"<u{width}").ravel()
        for _ in range(order):
            bits = np.cumsum(bits, dtype=bits.dtype)
        arrays[info.name] = bits.view(info.kind)
    return arrays


def decompress(data: bytes) -> bytes:
    """Return what zlib has packed; a `UsageError` if it is damaged or too large."""
    unpacking = zlib.decompressobj()
    try:
        plain = unpacking.decompress(data, MOST_BYTES)
    except zlib.error as error:
        raise UsageError(f"It cannot be unpacked ({error}).") from None
    if not unpacking.eof:
        raise UsageError(f"It is torn, or has more than {MOST_BYTES:,} bytes.")
    return plain


def _planes(bits: Array) -> bytes:
    return bits.view("u1").reshape(len(bits), bits.itemsize).T.tobytes()


def _check(part: bytes, checksum: int, seed: int = 0) -> bytes:
    if crc32(part, seed) != checksum:
        raise UsageError("The checksum does not fit.")
    return part
