"""The files of a chart beside its head, read with nothing taken for granted."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sickbay.arguments import whole
from sickbay.chart import lines
from sickbay.chart.blocks import Block, scan
from sickbay.chart.format import BLOCKS, EVENTS, LINES, TABLES, Line, Names
from sickbay.chart.rows import Row
from sickbay.errors import UsageError
from sickbay.fields import revived
from sickbay.files import piece, read
from sickbay.findings import Event, Finding
from sickbay.readings import Setup


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """Names of the rows of tables, and the id that tables give for them."""

    id: int
    names: Names


@dataclass
class Events:
    """What `events.jsonl` holds."""

    findings: list[Finding] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    setups: list[Setup] = field(default_factory=list)
    names: dict[int, Names] = field(default_factory=dict)

    def add(self, line: Line) -> None:
        """Add a line; a `UsageError` if it is damaged. Types of a newer sickbay are left out."""
        kind = line.pop("type", None)
        if kind == "finding":
            self.findings.append(revived(Finding, line))
        elif kind == "event":
            self.events.append(revived(Event, line))
        elif kind == "setup":
            self.setups.append(revived(Setup, line))
        elif kind == "rows":
            rows = revived(_Rows, line)
            self.names[whole("id", rows.id, least=0)] = rows.names
        elif not isinstance(kind, str):
            raise UsageError("type is missing.")


@dataclass
class Scalars:
    """What both files of scalars hold: blocks, then rows with their numbers.

    A row is None where one is damaged. `data` are the bytes that the blocks are in; of these there
    are as many as were `seen`, without the `damaged` ones.
    """

    data: bytes
    blocks: list[Block]
    rows: list[Row | None]
    seen: int
    damaged: int


class Contents:
    """Reads the files; `damage` says, for each, what it has left out of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage: dict[str, str] = {}

    def events(self) -> Events:
        """Return findings, events, setups and names of rows."""
        found, told = Events(), list(lines.lines(self._all(EVENTS)))
        sound = 0
        for line in told:
            with suppress(UsageError):
                if line is not None:
                    found.add(line)
                    sound += 1
        self.note(EVENTS, "line", len(told) - sound, len(told))
        return found

    def scalars(self) -> Scalars:
        """Return all steps and ends of epochs."""
        # Lines first: what a writer moves into a block meanwhile is then in both, not in neither.
        found = list(lines.rows(self._all(LINES)))
        data = self._all(BLOCKS)
        scanned = list(scan(data))
        blocks: list[Block] = []
        row = at = 0
        for block in scanned:
            if block is not None and block.digest.row >= row and block.digest.at >= at:
                blocks.append(block)
                row, at = block.digest.row + block.digest.rows, block.digest.until
        self.note(BLOCKS, "block", len(scanned) - len(blocks), len(scanned))
        self.note(LINES, "line", found.count(None), len(found))
        rows: list[Row | None] = []
        for each in found:
            if each is None:
                rows.append(None)
            elif each[0] >= row:
                rows.append(each[1])
                row = each[0] + 1
        return Scalars(data, blocks, rows, len(scanned), len(scanned) - len(blocks))

    def tables(self, start: int, stop: int | None) -> bytes:
        """Return a piece of the file of tables, to its end if nothing else is said."""
        path = self.path / TABLES
        if not os.path.lexists(path):
            return b""
        return piece(path, start, stop)

    def note(self, name: str, what: str, damaged: int, count: int) -> None:
        """Note how much of a file is left out."""
        self.damage.pop(name, None)
        if damaged:
            is_are = f"{what} of {count} is" if damaged == 1 else f"{what}s of {count} are"
            self.damage[name] = f"{name}: {damaged} {is_are} damaged and left out"

    def _all(self, name: str) -> bytes:
        path = self.path / name
        return read(path) if os.path.lexists(path) else b""
