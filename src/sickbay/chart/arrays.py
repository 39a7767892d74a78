"""Arrays of numbers as few bytes: what barely changes from one to the next takes little room.

The bits of the numbers are taken as whole numbers. Of these, their differences and the differences
of those, whatever is smallest is kept, byte by byte: first the lowest byte of all numbers, last
the highest, so that zlib meets long runs. In front of all that a line of JSON lists the arrays.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sickbay.arguments import one_of, whole
from sickbay.chart.format import encode
from sickbay.errors import UsageError
from sickbay.fields import revived, sequence
from sickbay.files import parsed

Array: TypeAlias = NDArray[Any]
WIDTHS = {"<f4": 4, "<f8": 8, "<i8": 8}  # types there are, and their bytes
MOST_BYTES = 1 << 26  # of arrays that are unpacked, far above what is written
MOST_ORDER = 2  # how many times differences are taken
SAMPLE = 1024  # numbers that this is decided by


@dataclass(frozen=True, kw_only=True)
class _Listed:
    name: str
    kind: str
    order: int
    count: int


def pack(arrays: Mapping[str, Array]) -> bytes:
    """Return arrays as bytes.

    >>> packed = pack({"steps": np.arange(1000), "losses": np.full(1000, 0.1)})
    >>> len(packed) < 200, unpack(packed)["losses"][-1]
    (True, np.float64(0.1))
    """
    listed, parts = [], []
    for name, array in arrays.items():
        order, data = squeeze(array)
        parts.append(data)
        kind = array.dtype.str
        listed.append({"name": name, "kind": kind, "order": order, "count": len(array)})
    return zlib.compress(encode(listed) + b"".join(parts), 1)


def unpack(data: bytes) -> dict[str, Array]:
    """Return the arrays that `pack` was given; a `UsageError` if they cannot be some."""
    told, _, plain = inflated(data, MOST_BYTES).partition(b"\n")
    found, place = {}, 0
    for each in sequence("arrays", parsed(told, "arrays")):
        listed = revived(_Listed, each)
        order = whole("order", listed.order, least=0, most=MOST_ORDER)
        count = whole("count", listed.count, least=0, most=MOST_BYTES)
        start, place = place, place + count * WIDTHS[one_of("kind", listed.kind, WIDTHS)]
        if place > len(plain):
            raise UsageError("The arrays are longer than their bytes.")
        found[listed.name] = unsqueeze(plain[start:place], listed.kind, order)
    return found


def inflated(data: bytes, most: int) -> bytes:
    """Return what zlib has packed; a `UsageError` if that is damaged or more than `most` bytes."""
    unpacking = zlib.decompressobj()
    try:
        plain = unpacking.decompress(data, most)
    except zlib.error as error:
        raise UsageError(f"It cannot be unpacked ({error}).") from None
    if not unpacking.eof:
        raise UsageError(f"It is torn, or has more than {most:,} bytes.")
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


def squeeze(array: Array) -> tuple[int, bytes]:
    """Return how many times differences were taken, and the bytes.

    >>> order, data = squeeze(np.arange(100, dtype="<i8"))
    >>> order, data.count(0)
    (1, 701)
    """
    width = array.dtype.itemsize
    bits = array.view(f"<u{width}")
    steps = _differences(bits)
    tried = [bits, _folded(steps), _folded(_differences(steps))]
    order = int(np.argmin([_entropy(each[:SAMPLE]) for each in tried]))
    return order, _planes(tried[order]).tobytes()


def unsqueeze(data: bytes, kind: str, order: int) -> Array:
    """Return the array that `squeeze` was given."""
    width = WIDTHS[kind]
    planes = np.frombuffer(data, "u1").reshape(width, -1)
    bits: Array = np.ascontiguousarray(planes.T).view(f"<u{width}").ravel()
    if order:
        bits = _unfolded(bits)
    for _ in range(order):
        bits = np.cumsum(bits, dtype=bits.dtype)
    return bits.view(kind)


def _differences(bits: Array) -> Array:
    return np.diff(bits, prepend=bits.dtype.type(0))


def _folded(bits: Array) -> Array:
    """Return differences with the sign in the lowest bit, so that small ones have few bits."""
    signed = bits.view(bits.dtype.str.replace("u", "i"))
    return (bits << 1) ^ (signed >> (8 * bits.itemsize - 1)).view(bits.dtype)


def _unfolded(bits: Array) -> Array:
    return (bits >> 1) ^ (~(bits & 1) + 1)


def _planes(bits: Array) -> NDArray[np.uint8]:
    return bits.view("u1").reshape(len(bits), bits.itemsize).T


def _entropy(bits: Array) -> float:
    """Return about how many bits a number takes, if every byte of it is coded by itself."""
    planes = _planes(bits).astype(np.intp) + 256 * np.arange(bits.itemsize)[:, None]
    counts = np.bincount(planes.ravel())
    shares = counts[counts > 0] / max(1, len(bits))
    return float(-(shares * np.log2(shares)).sum())
