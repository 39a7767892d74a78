"""Finding records one after the other in bytes that may be damaged or torn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar


class Framed(Protocol):
    """A record of which the header was read."""

    @property
    def stop(self) -> int:
        """Where the record ends."""


Frame = TypeVar("Frame", bound=Framed)


def frames(
    data: bytes, read: Callable[[bytes, int], Frame | None], sign: bytes, least: int
) -> Iterator[Frame | None]:
    """Yield every record, and None where there must be one that `read` finds no header of.

    After such a one the next `sign` is looked for. A record that ends beyond the data is being
    written, or was when its process was killed: it ends the search, as less than `least` bytes do.
    """
    place = 0
    while len(data) - place >= least:
        frame = read(data, place)
        if frame is None:
            yield None
            place = data.find(sign, place + 1)
            if place < 0:
                return
        elif frame.stop > len(data):
            return
        else:
            yield frame
            place = frame.stop
