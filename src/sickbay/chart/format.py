"""What the files of a chart hold.

chart.json      schema, start time, first setup and column names; written once, and last
scalars.jsonl   a line per step and per end of an epoch
events.jsonl    a line per finding, event, newer setup and list of row names
tables.bin      a record per table: header with a checksum, then float32 values

JSON has no NaN and no infinity: they are the strings "nan", "inf" and "-inf".
"""

import json
import os
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from struct import Struct
from typing import Any, TypeAlias

from sickbay.errors import UsageError
from sickbay.readings import KINDS, Kind

SCHEMA = 1
HEAD, EVENTS, TABLES, SCALARS = "chart.json", "events.jsonl", "tables.bin", "scalars.jsonl"
MAGIC = b"SBT1"
# magic, kind, step, epoch, id of the row names, rows, bytes of values, checksum of all the others
HEADER = Struct("<4s16sqqIIII")
KIND_OF: dict[bytes, Kind] = {kind.encode().ljust(16, b"\0"): kind for kind in KINDS}

Names: TypeAlias = tuple[str, ...]
Line: TypeAlias = dict[str, Any]
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=dict).encode


def folder_of(path: object) -> Path:
    """Return the path as an absolute folder, or say that it is none."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text:
        raise UsageError(f"chart must be a folder, as str or os.PathLike, got {path!r}.")
    return Path(os.path.abspath(text))


def encode(fields: Line) -> bytes:
    """Return a line of JSON."""
    return _encode(fields).encode("ascii") + b"\n"


def to_json(values: Mapping[str, float]) -> dict[str, float | str]:
    """Return the numbers with a word for each that JSON has no number for."""
    numbers = {name: float(value) for name, value in values.items()}
    return {name: value if isfinite(value) else str(value) for name, value in numbers.items()}


def from_json(values: Mapping[str, float | str]) -> dict[str, float]:
    """Return what `to_json` was given."""
    return {name: float(value) for name, value in values.items()}
