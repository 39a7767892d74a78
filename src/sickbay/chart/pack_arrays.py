"""Arrays of numbers as few bytes: what barely changes from one to the next takes little room.

The bits of the numbers are taken as whole numbers. Of these, their differences and the differences
of those, whatever is smallest is kept, byte by byte: first the lowest byte of all numbers, last
the highest, so that zlib meets long runs. A line of JSON in front lists the arrays.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sickbay.arguments import check_choice, check_int
from sickbay.chart.format import encode
from sickbay.errors import UsageError
from sickbay.json_dataclasses import dataclass_from_json, json_list
from sickbay.safe_files import parse_json

Array: TypeAlias = NDArray[Any]
WIDTHS = {"<f4": 4, "<f8": 8, "<i8": 8}  # types there are, and their bytes
MOST_BYTES = 1 << 26  # of what is unpacked, far above what is written
MOST_ORDER = 2  # how many times differences are taken
SAMPLE = 256  # numbers that this is decided by


@dataclass(frozen=True, kw_only=True)
class _Listed:
    name: str
    kind: str
    order: int
    count: int


def pack(arrays: Mapping[str, Array]) -> bytes:
    """Return arrays as bytes.

    >>> packed = pack({"steps": np.arange(1000), "losses": np.full(1000, 0.1)})
    >>> len(packed) < 250, float(unpack(packed)["losses"][-1])
    (True, 0.1)
    """
    listed, parts = [], []
    for name, array in arrays.items():
        tried = [array.view(f"<u{array.itemsize}")]
        for _ in range(MOST_ORDER):
            tried.append(np.diff(tried[-1], prepend=tried[0].dtype.type(0)))
        sizes = [len(zlib.compress(_planes(each[:SAMPLE]), 1)) for each in tried]
        order = sizes.index(min(sizes))
        parts.append(_planes(tried[order]))
        kind = array.dtype.str
        listed.append({"name": name, "kind": kind, "order": order, "count": len(array)})
    return zlib.compress(encode(listed) + b"".join(parts), 1)


def unpack(data: bytes) -> dict[str, Array]:
    """Return the arrays that `pack` was given; a `UsageError` if they cannot be some."""
    told, _, plain = inflated(data).partition(b"\n")
    found, place = {}, 0
    for each in json_list("arrays", parse_json(told, "arrays")):
        listed = dataclass_from_json(_Listed, each)
        order = check_int("order", listed.order, least=0, most=MOST_ORDER)
        count = check_int("count", listed.count, least=0, most=MOST_BYTES)
        width = WIDTHS[check_choice("kind", listed.kind, WIDTHS)]
        start, place = place, place + count * width
        if place > len(plain):
            raise UsageError("The arrays are longer than their bytes.")
        planes = np.frombuffer(plain[start:place], "u1").reshape(width, -1)
        bits: Array = np.ascontiguousarray(planes.T).view(f"<u{width}").ravel()
        for _ in range(order):
            bits = np.cumsum(bits, dtype=bits.dtype)
        found[listed.name] = bits.view(listed.kind)
    return found


def inflated(data: bytes) -> bytes:
    """Return what zlib has packed; a `UsageError` if that is damaged or too large."""
    unpacking = zlib.decompressobj()
    try:
        plain = unpacking.decompress(data, MOST_BYTES)
    except zlib.error as error:
        raise UsageError(f"It cannot be unpacked ({error}).") from None
    if not unpacking.eof:
        raise UsageError(f"It is torn, or has more than {MOST_BYTES:,} bytes.")
    return plain


def smallest(numbers: NDArray[np.float64]) -> Array:
    """Return numbers as 32-bit floats if these hold each of them exactly.

    >>> smallest(np.array([0.5, np.nan])).dtype.itemsize, smallest(np.array([0.1])).dtype.itemsize
    (4, 8)
    """
    with np.errstate(over="ignore", invalid="ignore"):
        half = numbers.astype("<f4")
        same = (half == numbers) | np.isnan(numbers)
    return half if same.all() else numbers.astype("<f8")


def _planes(bits: Array) -> bytes:
    return bits.view("u1").reshape(len(bits), bits.itemsize).T.tobytes()
