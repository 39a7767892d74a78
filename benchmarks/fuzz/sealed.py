"""Damage with checksums that fit: what a file says of itself is wrong, and yet it looks whole.

The forms of the files are written out here, apart from sickbay, as somebody hostile would. Bytes in
a form that is not known here are left to plain damage.
"""

from __future__ import annotations

import json
import zlib
from functools import cache
from random import Random
from struct import Struct
from struct import error as StructError  # noqa: N812 - it is a class

from benchmarks.fuzz.damage import WILD, Tree, changed, in_bytes

BLOCK = Struct("<4sIIIII")  # magic, bytes of digest and body, their checksums, checksum of these
OLD_TABLE = Struct("<4s16sqqIIII")  # magic, kind, step, epoch, names, rows, bytes, checksum
TABLE = Struct("<4s16sqqIIIQII")  # ..., bytes, number, checksum of the values, checksum of these
KINDS = (b"gradient", b"weight", b"activation", b"batch", b"raw_gradient", b"x")
STEPS = (0, 7, -1, 2**63 - 1, -(2**63))
ROWS = (0, 1, 2, 3, 2**16, 2**24, 2**31, 2**32 - 1)
BOMB = 1 << 27  # bytes that a small piece unpacks to


def seal(tree: Tree, random: Random) -> list[str]:
    """Damage a file of records; return what was done, nothing if there is none of a known form."""
    ways = {b"SBB2": blocks, b"SBT2": tables, b"SBT1": tables}
    known = [(name, data) for name, data in tree.items() if isinstance(data, bytes)]
    fitting = [(name, data, ways[data[:4]]) for name, data in known if data[:4] in ways]
    if not fitting:
        return []
    name, data, way = random.choice(fitting)
    try:
        tree[name] = way(data, random)
    except (StructError, zlib.error, ValueError, IndexError):  # damaged before, or another form
        return []
    return [f"sealed {way.__name__} of {name}"]


def tables(data: bytes, random: Random) -> bytes:
    """Put a table in front or at the end that is not what it says."""
    values = random.randbytes(random.choice((0, 1, 4, 68, 72, 76, 144, 4000)))
    size = random.choice((*[len(values)] * 5, 2**31, 2**32 - 1))
    kind = random.choice(KINDS).ljust(16, b"\0")
    names = random.choice((0, 0, 1, 2**32 - 1))
    fields = kind, random.choice(STEPS), random.choice(STEPS), names, random.choice(ROWS), size
    if data[:4] == b"SBT1":
        head = OLD_TABLE.pack(b"SBT1", *fields, 0)[:-4]
        made = head + zlib.crc32(values, zlib.crc32(head)).to_bytes(4, "little") + values
    else:
        number = random.choice((0, 1, 8, 2**64 - 1))
        head = TABLE.pack(b"SBT2", *fields, number, zlib.crc32(values), 0)[:-4]
        made = head + zlib.crc32(head).to_bytes(4, "little") + values
    return random.choice((data + made, made + data, made))


def blocks(data: bytes, random: Random) -> bytes:
    """Change what the first block says of itself, what it lists, or one of its columns."""
    _, ahead, size, *_ = BLOCK.unpack(data[: BLOCK.size])
    digest = data[BLOCK.size : BLOCK.size + ahead]
    body = data[BLOCK.size + ahead : BLOCK.size + ahead + size]
    rest = data[BLOCK.size + ahead + size :]
    way = random.randrange(4)
    if way == 0:
        digest = packed(changed(json.loads(zlib.decompress(digest)), random))
    else:
        body = within(body, way, random)
    head = BLOCK.pack(b"SBB2", len(digest), len(body), zlib.crc32(digest), zlib.crc32(body), 0)[:-4]
    made = head + zlib.crc32(head).to_bytes(4, "little") + digest + body
    return made + random.choice((rest, rest, made))


def within(body: bytes, way: int, random: Random) -> bytes:
    """Return the body of a block with its list changed, or a column of it."""
    size = int.from_bytes(body[:4], "little")
    listed, columns = json.loads(zlib.decompress(body[4 : 4 + size])), body[4 + size :]
    if way == 1:
        told = packed(changed(listed, random))
        return len(told).to_bytes(4, "little") + told + columns
    if way == 2:
        wild = random.choice((*WILD, size, size + 1)) & 0xFFFFFFFF
        return wild.to_bytes(4, "little") + body[4:]
    parts, place = [], 0
    for each in listed["columns"]:
        parts.append(columns[place : place + each["size"]])
        place += each["size"]
    number = random.randrange(len(parts))
    parts[number] = random.choice((bomb(), recompressed(parts[number], random)))
    listed["columns"][number]["size"] = len(parts[number])
    told = packed(json.dumps(listed))
    return len(told).to_bytes(4, "little") + told + b"".join(parts)


def packed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1)


def recompressed(part: bytes, random: Random) -> bytes:
    return zlib.compress(in_bytes(zlib.decompress(part), random), 1)


@cache
def bomb() -> bytes:
    """Return a small piece that unpacks to a large one."""
    return zlib.compress(bytes(BOMB), 1)
