"""Damage the files in a folder: their bytes, their JSON, or what kind of file they are."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Literal

Special = Literal["folder", "pipe", "dangling", "loop", "device", "unreadable", "outside"]
SPECIAL: tuple[Special, ...] = (
    "folder", "pipe", "dangling", "loop", "device", "unreadable", "outside",
)  # fmt: skip
Tree = dict[str, bytes | Special]

WILD = (0, 1, 127, 128, 255, 2**15, 2**16 - 1, 2**24, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1)
DEEP = 20_000
# As text, because Python's JSON writer cannot produce all of them.
TOKENS = (
    "null", "true", "false", "0", "-1", "1", "1.5", "1e308", "-1e308", "1e999", "NaN", "Infinity",
    "-Infinity", "1" + "0" * 30, "9" * 5000, '""', '"x"', '"nan"', '"inf"', '"1e400"', "[]", "{}",
    "[[]]", '[{}, null, "a", 1e400]', '{"a": 1}', '"../../x"', '"\\u0000"', '"\\ud800"',
    '"\\u001b[31m"', '"[/red]"', '"[bold"', "[" * DEEP + "]" * DEEP, "[" * DEEP,
    '{"a":' * 500 + "1" + "}" * 500, '"' + "x" * 10_000 + '"', "[0" + ",0" * 5000 + "]",
    '"gradient"', '"loss"', "2147483648", "9223372036854775808", "-9223372036854775809", "",
)  # fmt: skip
OUTSIDE = "outside"  # a file that nothing may write to
PLACE = "\x00here\x00"


def damage(tree: Tree, random: Random) -> list[str]:
    """Damage some files. Return a description."""
    done = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        files = [name for name, data in tree.items() if isinstance(data, bytes)]
        if not files:
            break
        name = random.choice(files)
        data = tree[name]
        assert isinstance(data, bytes)
        ways: list[Callable[[bytes, Random], bytes]] = [in_bytes, in_bytes]
        if b"{" in data[:1]:
            ways += [in_json, in_json, in_json, in_lines]
        way = random.choice(ways)
        if random.random() < 0.05:
            tree[name] = random.choice(SPECIAL)
            done.append(f"{name} is {tree[name]!s}")
        elif random.random() < 0.03:
            other = random.choice(files)
            tree[name] = tree[other]
            done.append(f"{name} is a copy of {other}")
        elif random.random() < 0.02:
            del tree[name]
            done.append(f"no {name}")
        else:
            tree[name] = way(data, random)
            done.append(f"{way.__name__} of {name}")
    return done


def in_bytes(data: bytes, random: Random) -> bytes:
    """Change, remove, repeat or insert bytes."""
    made = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4, 16))):
        at = random.randrange(len(made) + 1)
        size = random.choice((1, 2, 4, 8, 64))
        way = random.randrange(8)
        if way == 0 and at < len(made):
            made[at] ^= 1 << random.randrange(8)
        elif way == 1:
            wild = random.choice(WILD) & (1 << 8 * min(size, 8)) - 1
            made[at : at + min(size, 8)] = wild.to_bytes(min(size, 8), "little")
        elif way == 2:
            del made[at:]
        elif way == 3:
            del made[at : at + size]
        elif way == 4:
            made[at:at] = random.randbytes(size)
        elif way == 5:
            made[at:at] = made[at : at + random.randrange(1, 200)]
        elif way == 6:
            made[at : at + size] = bytes(size)
        else:
            made[at : at + size] = random.choice((b"\xff" * size, b"\n", b'"', b"{", b"\x1b[31m"))
    return bytes(made)


def in_json(data: bytes, random: Random) -> bytes:
    """Replace one value, key or entry in a line of JSON."""
    lines = data.split(b"\n")
    number = random.randrange(len(lines))
    try:
        value = json.loads(lines[number])
    except (ValueError, RecursionError):  # already damaged
        return in_bytes(data, random)
    lines[number] = changed(value, random).encode("utf-8", "surrogatepass")
    return b"\n".join(lines)


def in_lines(data: bytes, random: Random) -> bytes:
    """Remove, repeat, swap or cut lines."""
    lines = data.split(b"\n")
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    way = random.randrange(5)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(other, lines[at])
    elif way == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif way == 3:
        lines[at] = lines[at][: random.randrange(len(lines[at]) + 1)]
    else:
        lines[at] = random.choice(TOKENS).encode()
    return b"\n".join(lines)


def changed(value: Any, random: Random) -> str:
    """Return JSON with one random change."""
    spots = [(None, None), *spots_of(value)]
    holder, key = random.choice(spots)
    token = random.choice(TOKENS)
    if holder is None:
        return token
    way = random.randrange(4)
    if way == 0 and isinstance(holder, dict):
        holder[random.choice(("", "x", "schema", "step", "self", "\x1b[31m"))] = holder.pop(key)
        return json.dumps(value)
    if way == 1:
        del holder[key]
        return json.dumps(value)
    holder[key] = PLACE
    return json.dumps(value).replace(json.dumps(PLACE), token)


def spots_of(value: Any) -> list[tuple[Any, Any]]:
    """Return every entry of nested lists and dicts as its container and key."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            keys: list[Any] = list(each)
        elif isinstance(each, list):
            keys = list(range(len(each)))
        else:
            continue
        found += [(each, key) for key in keys]
        waiting += [each[key] for key in keys]
    return found


def write(tree: Tree, folder: Path) -> None:
    """Write the files to a folder."""
    for name, data in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, bytes):
            path.write_bytes(data)
        elif data == "folder":
            (path / "x").mkdir(parents=True)
        elif data == "pipe":
            os.mkfifo(path)
        elif data == "dangling":
            path.symlink_to("nowhere")
        elif data == "loop":
            path.symlink_to(path.name)
        elif data == "device":
            path.symlink_to("/dev/zero")
        elif data == "unreadable":
            path.write_bytes(b"{}")
            path.chmod(0)
        else:
            path.symlink_to(next(up / OUTSIDE for up in folder.parents if (up / OUTSIDE).exists()))
