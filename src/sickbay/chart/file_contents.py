"""The files of a chart beside its head, read with nothing taken for granted."""

from __future__ import annotations

import os
from pathlib import Path

from sickbay.chart.blocks import Block, scan
from sickbay.chart.events import Events
from sickbay.chart.format import BLOCKS, EVENTS, LINES, TABLES, sound
from sickbay.chart.lines import Told, lines, rows
from sickbay.safe_files import file_size, read_file, read_range


class Contents:
    """Reads the files; `damage` says, for each, what was left out of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage: dict[str, str] = {}

    def events(self) -> Events:
        """Return findings, events, setups and names of rows."""
        found = Events()
        added = list(sound(found.add, lines(self._all(EVENTS))))
        self.note(EVENTS, "line", added.count(None), len(added))
        return found

    def lines(self) -> list[Told | None]:
        """Return the rows that are lines, None where one is damaged."""
        found = list(rows(self._all(LINES)))
        self.note(LINES, "line", found.count(None), len(found))
        return found

    def blocks(self) -> list[Block | None]:
        """Return the blocks in their order, None where one is damaged."""
        found = list(scan(self._all(BLOCKS)))
        row = start = 0
        for index, block in enumerate(found):
            if block is not None:
                place = block.digest.place
                if place.row < row or place.start < start:  # there already
                    found[index] = None
                else:
                    row, start = place.row + place.rows, place.stop
        self.note(BLOCKS, "block", found.count(None), len(found))
        return found

    def tables(self, start: int, stop: int) -> bytes:
        """Return a piece of the file of tables."""
        return read_range(self.path / TABLES, start, stop) if stop > start else b""

    def end_of_tables(self) -> int:
        """Return how many bytes the file of tables has so far."""
        path = self.path / TABLES
        return file_size(path) if os.path.lexists(path) else 0

    def note(self, name: str, what: str, damaged: int, count: int) -> None:
        """Note how much of a file is left out."""
        self.damage.pop(name, None)
        if damaged:
            is_are = f"{what} of {count} is" if damaged == 1 else f"{what}s of {count} are"
            self.damage[name] = f"{name}: {damaged} {is_are} damaged and left out"

    def _all(self, name: str) -> bytes:
        path = self.path / name
        return read_file(path) if os.path.lexists(path) else b""
