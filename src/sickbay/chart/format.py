"""What the files of a chart hold.

chart.json      schema, start time, first setup and column names; written once, and last
events.jsonl    a line per finding, event, newer setup and list of row names
tables.bin      a record per table: header with checksums, then float32 values
scalars.bin     blocks of steps and ends of epochs, in columns
scalars.jsonl   those that are too few for a block yet, a line each

Every step and every end of an epoch is a row; tables name the row that they belong to.
JSON has no NaN and no infinity: they are the strings "nan", "inf" and "-inf".
Charts of schema 1 have no blocks: all their steps are lines.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from math import isfinite
from typing import Any, TypeAlias, TypeVar

from sickbay.errors import UsageError

SCHEMA = 2
HEAD, EVENTS, TABLES = "chart.json", "events.jsonl", "tables.bin"
BLOCKS, LINES = "scalars.bin", "scalars.jsonl"

Names: TypeAlias = tuple[str, ...]
Line: TypeAlias = dict[str, Any]
Part = TypeVar("Part")
Made = TypeVar("Made")
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=dict).encode


def encode(told: object) -> bytes:
    """Return a line of JSON."""
    try:
        text = _encode(told)
    except (TypeError, ValueError):  # seldom, so that most need not be gone through
        text = _encode(to_json(told))
    return text.encode("ascii") + b"\n"


def to_json(value: Any) -> Any:
    """Return a value with a word for each number that JSON has none for.

    >>> to_json({"loss": float("nan"), "lr": (0.5, 1)})
    {'loss': 'nan', 'lr': [0.5, 1]}
    """
    if isinstance(value, Mapping):
        return {name: to_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    if value is None or isinstance(value, str | int):
        return value
    number = float(value)
    return number if isfinite(number) else str(number)


def floats(values: Mapping[str, float]) -> dict[str, float]:
    """Return numbers as floats, whatever they are: a bool or numpy's would be read as damage."""
    return {name: float(value) for name, value in values.items()}


def sound(
    read: Callable[[Part], Made | None], parts: Iterable[Part | None]
) -> Iterator[Made | None]:
    """Yield what is read of each part, None where that is damaged."""
    for part in parts:
        made = None
        with suppress(UsageError):
            made = None if part is None else read(part)
        yield made


def from_json(values: Mapping[str, float | str]) -> dict[str, float]:
    """Return the numbers that `to_json` was given."""
    return {name: float(value) for name, value in values.items()}
