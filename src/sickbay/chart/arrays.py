"""Arrays of numbers as few bytes: what barely changes from one to the next takes little room.

The bits of the numbers are taken as whole numbers. Of these, their differences and the differences
of those, whatever is smallest is kept, byte by byte: first the highest byte of all numbers, last
the lowest, so that zlib meets long runs.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
WIDTHS = {"<f4": 4, "<f8": 8, "<i8": 8, "|u1": 1}  # types there are, and their bytes
ORDERS = (0, 1, 2)  # how many times differences are taken
SAMPLE = 1024  # numbers that this is decided by


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
    tried = [bits]
    if width > 1:
        steps = _differences(bits)
        tried += _folded(steps), _folded(_differences(steps))
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
