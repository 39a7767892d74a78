"""Lines of JSON: events, and the rows that are too few for a block yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sickbay.arguments import check_int
from sickbay.chart.columns import EpochEnd, Row
from sickbay.chart.format import Line, encode, floats, sound
from sickbay.json_dataclasses import dataclass_from_json, json_object
from sickbay.safe_files import parse_json
from sickbay.vitals import Vitals


class Told(NamedTuple):
    """What a line tells: a row, its number, and in charts of schema 1 how many tables it has."""

    number: int
    row: Row
    tables: int = 0


@dataclass(frozen=True, kw_only=True)
class _StepLine:
    step: int
    epoch: int
    time: float
    scalars: Mapping[str, float]
    tables: int = 0


def line_of(number: int, row: Row) -> bytes:
    """Return a row as a line."""
    if isinstance(row, EpochEnd):
        return encode({"row": number, "epoch_end": row.epoch, "metrics": row.metrics})
    fields = {"step": row.step, "epoch": row.epoch, "time": row.time}
    return encode({"row": number, **fields, "scalars": floats(row.scalars)})


def lines(data: bytes) -> Iterator[Line | None]:
    """Yield every whole line, None where it is damaged; one that is torn at the end is none."""
    return sound(_parsed, data.split(b"\n")[:-1])


def rows(data: bytes) -> Iterator[Told | None]:
    """Yield every row, None where its line is damaged; in charts of schema 1 lines are counted."""
    return sound(_told, enumerate(data.split(b"\n")[:-1]))


def _parsed(line: bytes) -> Line:
    return json_object("line", parse_json(line, "line"))


def _told(numbered: tuple[int, bytes]) -> Told:
    number, line = numbered[0], _parsed(numbered[1])
    number = check_int("row", line.get("row", number), least=0)
    if "epoch_end" in line:
        return Told(number, dataclass_from_json(EpochEnd, {**line, "epoch": line["epoch_end"]}))
    step = dataclass_from_json(_StepLine, line)
    vitals = Vitals(step.step, step.epoch, step.time, step.scalars)
    return Told(number, vitals, check_int("tables", step.tables, least=0))
