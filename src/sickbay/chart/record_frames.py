"""Records one after the other, which are found again in bytes that may be damaged or torn.

header   magic, bytes of both parts, their checksums, checksum of all this
head     what there is to know of the body
body     the rest
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from struct import Struct
from typing import TypeAlias
from zlib import crc32

from sickbay.errors import UsageError

HEADER = Struct("<4sIIIII")


@dataclass(frozen=True)
class Frame:
    """A record whose header is sound, in the bytes of its file."""

    data: bytes
    start: int  # of the head
    middle: int  # where the body begins
    stop: int
    checksums: tuple[int, int]
    seed: int = 0  # of the checksum of the body

    def head(self) -> bytes:
        """Return the head; a `UsageError` if it is damaged."""
        return _checked(self.data[self.start : self.middle], self.checksums[0])

    def body(self) -> bytes:
        """Return the body; a `UsageError` if it is damaged."""
        return _checked(self.data[self.middle : self.stop], self.checksums[1], self.seed)


Read: TypeAlias = Callable[[bytes, int], Frame | None]


def pack(magic: bytes, head: bytes, body: bytes) -> bytes:
    """Return a record."""
    header = HEADER.pack(magic, len(head), len(body), crc32(head), crc32(body), 0)[:-4]
    return header + crc32(header).to_bytes(4, "little") + head + body


def unpack(data: bytes, place: int) -> Frame | None:
    """Return the record at a place, None if its header is damaged."""
    start = place + HEADER.size
    _, head, body, *checksums, whole = HEADER.unpack(data[place:start])
    if whole != crc32(data[place : start - 4]):
        return None
    return Frame(data, start, start + head, start + head + body, (checksums[0], checksums[1]))


def scan(
    data: bytes, magic: bytes, read: Read = unpack, size: int = HEADER.size
) -> Iterator[Frame | None]:
    """Yield every record, and None where there must be one that `read` finds no header of.

    After such a one the next `magic` is looked for. A record that ends beyond the data is being
    written, or was when its process was killed: it ends the search, as an unfinished header does.
    """
    place = 0
    while len(data) - place >= size:
        frame = read(data, place) if data.startswith(magic, place) else None
        if frame is None:
            yield None
            place = data.find(magic, place + 1)
            if place < 0:
                return
        elif frame.stop > len(data):
            return
        else:
            yield frame
            place = frame.stop


def _checked(part: bytes, checksum: int, seed: int = 0) -> bytes:
    if crc32(part, seed) != checksum:
        raise UsageError("The checksum does not fit.")
    return part
