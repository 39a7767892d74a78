"""Lines of JSON: events, and the steps that are too few for a block yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from sickbay.arguments import whole
from sickbay.chart.format import Line, encode, listed, to_json
from sickbay.chart.rows import EpochEnd, Row, Step
from sickbay.errors import UsageError
from sickbay.fields import mapping, revived
from sickbay.files import parsed
from sickbay.readings import Vitals


@dataclass(frozen=True, kw_only=True)
class _StepLine:
    """A reading; charts of schema 1 do not tell the numbers of the row and of its first table."""

    step: int
    epoch: int
    time: float
    scalars: Mapping[str, float]
    tables: int
    row: int | None = None
    table: int | None = None


@dataclass(frozen=True, kw_only=True)
class _EndLine:
    epoch_end: int
    metrics: Mapping[str, float]
    row: int | None = None


def line_of(number: int, row: Row) -> bytes:
    """Return a row as a line."""
    if isinstance(row, EpochEnd):
        end = {"row": number, "epoch_end": row.epoch, "metrics": to_json(row.metrics)}
        return encode(end)
    vitals = row.vitals
    fields: Line = {"step": vitals.step, "epoch": vitals.epoch, "time": listed([vitals.time])[0]}
    fields |= {"scalars": vitals.scalars, "tables": row.tables, "table": row.table}
    try:
        return encode({"row": number, **fields})
    except (TypeError, ValueError):  # seldom, so that the others need not be gone through
        return encode({"row": number, **fields, "scalars": to_json(row.vitals.scalars)})


def lines(data: bytes) -> Iterator[Line | None]:
    """Yield every whole line, None where it is damaged; one that is torn at the end is none."""
    *whole_lines, _ = data.split(b"\n")
    for line in whole_lines:
        found = None
        with suppress(UsageError):
            found = dict(mapping("line", parsed(line, "line")))
        yield found


def rows(data: bytes) -> Iterator[tuple[int, Row] | None]:
    """Yield every row with its number, None where its line is damaged."""
    number = table = 0
    for line in lines(data):
        found = None
        with suppress(UsageError):
            found = None if line is None else _row(line, number, table)
        yield found
        number += 1
        if found is not None:
            number = found[0] + 1
            if isinstance(found[1], Step):
                table = found[1].table + found[1].tables


def _row(line: Line, number: int, table: int) -> tuple[int, Row]:
    if "epoch_end" in line:
        end = revived(_EndLine, line)
        return _told("row", end.row, number), EpochEnd(end.epoch_end, end.metrics)
    step = revived(_StepLine, line)
    tables = whole("tables", step.tables, least=0)
    vitals = Vitals(step.step, step.epoch, step.time, step.scalars)
    return _told("row", step.row, number), Step(vitals, _told("table", step.table, table), tables)


def _told(name: str, value: int | None, usual: int) -> int:
    return usual if value is None else whole(name, value, least=0)
