"""What the files of a chart hold.

chart.json      schema, start time, first setup and column names; written once, and last
events.jsonl    a line per finding, event, newer setup and list of row names
tables.bin      a record per table: header with checksums, then float32 values
scalars.bin     blocks of steps and ends of epochs, in columns
scalars.jsonl   those that are too few for a block yet, a line each

JSON has no NaN and no infinity: they are the strings "nan", "inf" and "-inf".
Charts of schema 1 have no blocks: all their steps are lines.
"""

import json
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, TypeAlias

SCHEMA = 2
HEAD, EVENTS, TABLES = "chart.json", "events.jsonl", "tables.bin"
BLOCKS, LINES = "scalars.bin", "scalars.jsonl"

Names: TypeAlias = tuple[str, ...]
Line: TypeAlias = dict[str, Any]
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=dict).encode


def encode(fields: Line) -> bytes:
    """Return a line of JSON."""
    return _encode(fields).encode("ascii") + b"\n"


def to_json(values: Mapping[str, float]) -> dict[str, float | str]:
    """Return the numbers with a word for each that JSON has no number for."""
    return dict(zip(values, listed(values.values()), strict=True))


def listed(values: Iterable[float]) -> list[float | str]:
    """Return the numbers with a word for each that JSON has no number for."""
    numbers = map(float, values)
    return [value if isfinite(value) else str(value) for value in numbers]


def from_json(values: Mapping[str, float | str]) -> dict[str, float]:
    """Return what `to_json` was given."""
    return {name: float(value) for name, value in values.items()}
