"""Lines of JSON: findings and events, and the newest rows until they fill a block."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeVar

from sickbay.arguments import check_int
from sickbay.errors import UsageError
from sickbay.findings import Event, Finding
from sickbay.health import Health
from sickbay.json_dataclasses import dataclass_from_json, json_object, to_json
from sickbay.safe_files import parse_json
from sickbay.vitals import Setup, Vitals

Names: TypeAlias = tuple[str, ...]
Line: TypeAlias = dict[str, Any]
Part = TypeVar("Part")
Value = TypeVar("Value")
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=dict).encode


@dataclass
class EpochEnd:
    """The end of an epoch, with the metrics measured over all of it."""

    epoch: int
    metrics: Mapping[str, float]


Row: TypeAlias = Vitals | EpochEnd


class NumberedRow(NamedTuple):
    """A row with its number and, in charts of schema 1, how many tables it has."""

    number: int
    row: Row
    tables: int = 0


@dataclass
class Events:
    """Findings, events, reports, setups and names of table rows, each oldest first."""

    findings: list[Finding] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    reports: list[Health] = field(default_factory=list)
    setups: list[Setup] = field(default_factory=list)
    names: dict[int, Names] = field(default_factory=dict)

    def add(self, line: bytes) -> bool:
        """Add a line and return True; a `UsageError` if it is damaged.

        Types that only a newer sickbay knows are ignored.
        """
        values = json_object("line", parse_json(line, "line"))
        kind = values.get("type")
        if kind == "finding":
            self.findings.append(dataclass_from_json(Finding, values))
        elif kind == "event":
            self.events.append(dataclass_from_json(Event, values))
        elif kind == "report":
            self.reports.append(dataclass_from_json(Health, values))
        elif kind == "setup":
            self.setups.append(dataclass_from_json(Setup, values))
        elif kind == "rows":
            rows = dataclass_from_json(_RowNames, values)
            self.names[check_int("id", rows.id, least=0)] = rows.names
        elif not isinstance(kind, str):
            raise UsageError("type is missing.")
        return True


@dataclass(frozen=True, kw_only=True)
class _RowNames:
    id: int
    names: Names


@dataclass(frozen=True, kw_only=True)
class _Step:
    step: int
    epoch: int
    time: float
    scalars: Mapping[str, float]
    tables: int = 0


def encode(value: object) -> bytes:
    """Return a line of JSON."""
    try:
        text = _encode(value)
    except (TypeError, ValueError):  # it holds NaN, infinity or numpy's numbers
        text = _encode(to_json(value))
    return text.encode("ascii") + b"\n"


def encode_row(number: int, row: Row) -> bytes:
    """Return a row as a line."""
    if isinstance(row, EpochEnd):
        return encode({"row": number, "epoch_end": row.epoch, "metrics": row.metrics})
    fields = {"step": row.step, "epoch": row.epoch, "time": row.time}
    return encode({"row": number, **fields, "scalars": floats(row.scalars)})


def floats(values: Mapping[str, float]) -> dict[str, float]:
    """Convert numbers to floats: a bool, or a number of numpy's, would be read as damage."""
    return {name: float(value) for name, value in values.items()}


def read_rows(data: bytes) -> list[NumberedRow | None]:
    """Return every row, None where its line is damaged."""
    return list(or_none(_read_row, enumerate(whole_lines(data))))


def whole_lines(data: bytes) -> list[bytes]:
    """Return every line, except one that is torn at the end."""
    return data.split(b"\n")[:-1]


def or_none(read: Callable[[Part], Value], parts: Iterable[Part | None]) -> Iterator[Value | None]:
    """Yield what `read` makes of each part, None where the part is damaged."""
    for part in parts:
        value = None
        with suppress(UsageError):
            value = None if part is None else read(part)
        yield value


def _read_row(numbered: tuple[int, bytes]) -> NumberedRow:
    place, text = numbered
    line = json_object("line", parse_json(text, "line"))
    number = check_int("row", line.get("row", place), least=0)  # schema 1 has no numbers
    if "epoch_end" in line:
        return NumberedRow(
            number, dataclass_from_json(EpochEnd, {**line, "epoch": line["epoch_end"]})
        )
    step = dataclass_from_json(_Step, line)
    vitals = Vitals(step.step, step.epoch, step.time, step.scalars)
    return NumberedRow(number, vitals, check_int("tables", step.tables, least=0))
