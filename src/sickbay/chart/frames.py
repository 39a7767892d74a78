"""Records one after the other, which are found again in bytes that may be damaged or torn.

header   magic, bytes of both parts, their checksums, checksum of all this
head     what there is to know of the body
body     the rest
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Protocol, TypeVar
from zlib import crc32

from sickbay.errors import UsageError

HEADER = Struct("<4sIIIII")


class Bounded(Protocol):
    """A record of which the header was read."""

    @property
    def stop(self) -> int:
        """Where the record ends."""


Record = TypeVar("Record", bound=Bounded)


@dataclass(frozen=True)
class Frame:
    """A record whose header is sound, in the bytes of its file."""

    data: bytes
    start: int  # of the head
    middle: int  # where the body begins
    stop: int
    checksums: tuple[int, int]

    def head(self) -> bytes:
        """Return the head; a `UsageError` if it is damaged."""
        return _checked(self.data[self.start : self.middle], self.checksums[0])

    def body(self) -> bytes:
        """Return the body; a `UsageError` if it is damaged."""
        return _checked(self.data[self.middle : self.stop], self.checksums[1])


def pack(magic: bytes, head: bytes, body: bytes) -> bytes:
    """Return a record."""
    header = HEADER.pack(magic, len(head), len(body), crc32(head), crc32(body), 0)[:-4]
    return header + crc32(header).to_bytes(4, "little") + head + body


def scan(data: bytes, magic: bytes) -> Iterator[Frame | None]:
    """Yield every record, and None where there must be one that is damaged."""

    def read(data: bytes, place: int) -> Frame | None:
        start = place + HEADER.size
        found, head, body, *checksums, whole = HEADER.unpack(data[place:start])
        if found != magic or whole != crc32(data[place : start - 4]):
            return None
        middle = start + head
        return Frame(data, start, middle, middle + body, (checksums[0], checksums[1]))

    return records(data, read, magic, HEADER.size)


def records(
    data: bytes, read: Callable[[bytes, int], Record | None], magic: bytes, least: int
) -> Iterator[Record | None]:
    """Yield every record, and None where there must be one that `read` finds no header of.

    After such a one the next `magic` is looked for. A record that ends beyond the data is being
    written, or was when its process was killed: it ends the search, as less than `least` bytes do.
    """
    place = 0
    while len(data) - place >= least:
        record = read(data, place)
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


def _checked(part: bytes, checksum: int) -> bytes:
    if crc32(part) != checksum:
        raise UsageError("The checksum does not fit.")
    return part
