"""Damage files and correct their checksums, so that wrong content looks intact.

The file formats are written out here, independent of sickbay, as an attacker would do. Files of an
unknown format get plain damage.
"""

from __future__ import annotations

import json
import zlib
from functools import cache
from random import Random
from struct import Struct
from struct import error as StructError  # noqa: N812 - it is a class

from benchmarks.fuzz.damage_folder import Tree, changed, in_bytes

FRAME = Struct("<4sIIIII")  # magic, sizes of head and body, their checksums, checksum of these
OLD_TABLE = Struct("<4s16sqqIIII")  # magic, kind, step, epoch, names, rows, bytes, checksum
TABLE = Struct("<16sqQI")  # kind, step, row, names
KINDS = (b"gradient", b"weight", b"activation", b"batch", b"raw_gradient", b"x")
STEPS = (0, 7, -1, 2**63 - 1, -(2**63))
ROWS = (0, 1, 2, 3, 2**16, 2**24, 2**31, 2**32 - 1)
BOMB = 1 << 27  # unpacked size of a small piece


def seal(tree: Tree, random: Random) -> list[str]:
    """Damage a file of records. Return a description, or nothing for an unknown format."""
    ways = {b"SBB2": blocks, b"SBT2": tables, b"SBT1": tables}
    known = [(name, data) for name, data in tree.items() if isinstance(data, bytes)]
    fitting = [(name, data, ways[data[:4]]) for name, data in known if data[:4] in ways]
    if not fitting:
        return []
    name, data, way = random.choice(fitting)
    try:
        tree[name] = way(data, random)
    except (StructError, zlib.error, ValueError, IndexError):  # already damaged, or another format
        return []
    return [f"sealed {way.__name__} of {name}"]


def tables(data: bytes, random: Random) -> bytes:
    """Add a table with a wrong header at the start or end."""
    values = random.randbytes(random.choice((0, 1, 4, 68, 72, 76, 144, 4000)))
    size = random.choice((*[len(values)] * 5, 2**31, 2**32 - 1))
    kind = random.choice(KINDS).ljust(16, b"\0")
    step, names = random.choice(STEPS), random.choice((0, 0, 1, 2**32 - 1))
    if data[:4] == b"SBT1":
        fields = kind, step, random.choice(STEPS), names, random.choice(ROWS), size
        head = OLD_TABLE.pack(b"SBT1", *fields, 0)[:-4]
        made = head + zlib.crc32(values, zlib.crc32(head)).to_bytes(4, "little") + values
    else:
        head = TABLE.pack(kind, step, random.choice((0, 1, 8, 2**64 - 1)), names)
        head = random.choice((*[head] * 5, head[:-1], head + b"x"))
        made = framed(b"SBT2", head, values, size)
    return random.choice((data + made, made + data, made))


def blocks(data: bytes, random: Random) -> bytes:
    """Change the header, the list or the columns of the first block."""
    _, ahead, size, *_ = FRAME.unpack(data[: FRAME.size])
    digest = data[FRAME.size : FRAME.size + ahead]
    body = data[FRAME.size + ahead : FRAME.size + ahead + size]
    rest = data[FRAME.size + ahead + size :]
    way = random.randrange(4)
    if way == 0:
        digest = packed(changed(json.loads(zlib.decompress(digest)), random))
    elif way == 1:
        listed, _, columns = zlib.decompress(body).partition(b"\n")
        listing = changed(json.loads(listed), random)
        body = zlib.compress(listing.encode("utf-8", "surrogatepass") + b"\n" + columns, 1)
    elif way == 2:
        digest, body = random.choice(((bomb(), body), (digest, bomb())))
    else:
        body = zlib.compress(in_bytes(zlib.decompress(body), random), 1)
    made = framed(b"SBB2", digest, body, len(body))
    return made + random.choice((rest, rest, made))


def framed(magic: bytes, head: bytes, body: bytes, size: int) -> bytes:
    """Return a record that claims a body of a given size."""
    frame = FRAME.pack(magic, len(head), size, zlib.crc32(head), zlib.crc32(body), 0)[:-4]
    return frame + zlib.crc32(frame).to_bytes(4, "little") + head + body


def packed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1)


@cache
def bomb() -> bytes:
    """Return a few bytes that unpack to many."""
    return zlib.compress(bytes(BOMB), 1)
