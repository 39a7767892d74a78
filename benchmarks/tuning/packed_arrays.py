"""Arrays in the members of a zip file, which may be damaged or hostile."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from lzma import LZMAError
from pathlib import Path
from struct import error as StructError  # noqa: N812
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError  # noqa: N812

import numpy as np
from numpy.typing import NDArray

from sickbay.errors import UsageError
from sickbay.printable import error_summary
from sickbay.safe_files import MAX_BYTES, open_regular_file, read_error

DROPPED = 13  # of the 23 bits of a fraction, in tables
# The header of an array written by `packed`. numpy's own reader would trust any size.
HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '\|u1', 'fortran_order': (True|False), "
    rb"'shape': \(4, ([0-9]{1,12})\), \} *\n",
    re.DOTALL,
)
# What zipfile raises for damaged, encrypted or unknown archives.
DAMAGED = (
    BadZipFile, EOFError, KeyError, LZMAError, MemoryError, OSError, OverflowError, RuntimeError,
    StructError, ValueError, ZlibError,
)  # fmt: skip

Array = NDArray[np.float32]


def members(path: Path, names: Sequence[str], most: int = MAX_BYTES) -> dict[str, bytes]:
    """Return some members of a zip file that may unpack to at most `most` bytes."""
    with open_regular_file(path) as file:
        try:
            with ZipFile(file) as archive:
                found = [archive.getinfo(name) for name in names]
                size = sum(each.file_size for each in found)
                if size > most:
                    why = f"it unpacks to {size:,} bytes, at most {most:,} are read"
                    raise read_error(path, why)
                return {each.filename: archive.read(each) for each in found}
        except UsageError:
            raise
        except DAMAGED as error:
            why = f"it must be a pool of recorded trials ({error_summary(error)})"
            raise read_error(path, why) from None


def packed(values: Array, dropped: int = DROPPED) -> bytes:
    """Round the numbers and group their bytes by significance, which compresses better."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + (1 << dropped >> 1)) >> dropped << dropped
    rounded = np.where(np.isfinite(values), rounded, bits).astype("<u4")
    file = BytesIO()
    np.save(file, rounded.view(np.uint8).reshape(-1, 4).T)
    return file.getvalue()


def unpacked(name: str, data: bytes) -> Array:
    """Return the numbers passed to `packed`, rounded.

    >>> unpacked("a", packed(np.ones(3, np.float32))).tolist()
    [1.0, 1.0, 1.0]
    """
    header = HEADER.match(data)
    body = data[header.end() :] if header else b""
    if header is None or len(body) != 4 * int(header[2]):
        raise UsageError(f"{name} must be an array of numbers as long as it says.")
    order = "F" if header[1] == b"True" else "C"
    planes = np.frombuffer(body, np.uint8).reshape((4, -1), order=order)  # type: ignore[call-overload]
    return np.ascontiguousarray(planes.T).view("<f4").ravel()
