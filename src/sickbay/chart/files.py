"""The files of a chart: their names, how to create them, and how rows are written to them.

Rows are written as lines first, and as a block once there are enough.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from io import FileIO
from itertools import count
from pathlib import Path

from sickbay.arguments import check_path
from sickbay.chart.blocks import Columns, pack_block
from sickbay.chart.json_lines import Names, Row, encode, encode_row
from sickbay.chart.table_records import pack_table
from sickbay.errors import UsageError
from sickbay.history import History
from sickbay.safe_files import create_file, write_atomically
from sickbay.vitals import Vitals

SCHEMA = 2
HEAD, EVENTS, TABLES = "chart.json", "events.jsonl", "tables.bin"
BLOCKS, LINES = "scalars.bin", "scalars.jsonl"
# In the order of writing, so that row names precede their table, and tables their step.
STREAMS = (EVENTS, TABLES, BLOCKS, LINES)
ROWS_PER_BLOCK = 1024


def create_chart_folder(path: object, head: bytes) -> tuple[Path, dict[str, FileIO]]:
    """Start a chart in the folder, or in the first sibling that does not exist yet."""
    wanted = check_path("chart", path)
    siblings = (wanted.with_name(f"{wanted.name}-{number}") for number in count(2))
    try:
        place, files = wanted, _create_files(wanted, head)
        while files is None:
            place = next(sibling for sibling in siblings if not os.path.lexists(sibling))
            files = _create_files(place, head)
    except (OSError, ValueError) as error:
        why = f"got {str(wanted)!r} ({getattr(error, 'strerror', error)})"
        raise UsageError(f"chart must be a folder that can be made or written to, {why}.") from None
    return place, files


def current_folder(path: Path, files: Mapping[str, FileIO]) -> Path | None:
    """Return the folder that the open files are in now, None if they were deleted.

    Systems without /proc do not tell the new name of a renamed folder: there, return `path`.
    """
    states = {name: os.fstat(file.fileno()) for name, file in files.items()}
    with suppress(OSError):  # a file is not there any more
        if all(os.path.samestat(os.lstat(path / name), state) for name, state in states.items()):
            return path
    if not all(state.st_nlink for state in states.values()):
        return None
    try:
        found = Path(os.readlink(f"/proc/self/fd/{files[EVENTS].fileno()}"))
    except OSError:
        return path
    return found.parent if found.name == EVENTS else None


def _create_files(place: Path, head: bytes) -> dict[str, FileIO] | None:
    """Create the folder and its files, all or nothing; None if it has a file of a chart already."""
    files = {}
    with ExitStack() as undo:
        for missing in reversed([each for each in (place, *place.parents) if not each.exists()]):
            missing.mkdir(exist_ok=True)
            undo.callback(_try, missing.rmdir)
        if os.path.lexists(place / HEAD):
            return None
        for name in STREAMS:
            try:  # of two processes that start at once, one gets the folder, the other a sibling
                files[name] = undo.enter_context(create_file(place / name))
            except FileExistsError:
                return None
            undo.callback(_try, (place / name).unlink)
        write_atomically(place / HEAD, head)  # last: whoever sees it sees a whole chart
        undo.pop_all()
    return files


def _try(action: Callable[[], None]) -> None:
    with suppress(OSError):  # another process may have put something there meanwhile
        action()


class FileWriter:
    """Writes to the files of a chart; for one thread at a time.

    Rows count as written before they are. So a Ctrl-C while writing may lose some rows, but none is
    written twice.
    """

    def __init__(self, files: dict[str, FileIO]) -> None:
        self.files = files
        self._name_ids: dict[Names, int] = {}
        self._history = History(window=1, tables=1)  # of what is in blocks
        self._row = 0  # number of the first row that is in no block yet
        self._rows: list[Row] = []  # these rows, without their tables
        self._kinds: Counter[str] = Counter()  # of the tables of these rows
        self._start = 0  # where these tables begin in their file

    def write(self, events: bytes, readings: Sequence[Row]) -> None:
        """Write lines of events, then readings."""
        first = self._row + len(self._rows)
        new_names, tables = dict[Names, int](), list[bytes]()
        for number, reading in enumerate(readings, first):
            if isinstance(reading, Vitals) and reading.tables:
                tables += self._pack_tables(number, reading, new_names)
                reading = replace(reading, tables=())
            self._rows.append(reading)
        for names, index in new_names.items():
            events += encode({"type": "rows", "id": index, "names": names})
        self._put(EVENTS, events)
        self._name_ids |= new_names
        self._put(TABLES, b"".join(tables))
        if len(self._rows) < ROWS_PER_BLOCK:
            new = self._rows[first - self._row :]
            self._put(LINES, b"".join(encode_row(*each) for each in enumerate(new, first)))
        else:
            self._put(BLOCKS, self._pack_block())
            self.files[LINES].truncate(0)

    def close(self) -> None:
        """Close the files."""
        while self.files:
            self.files.popitem()[1].close()

    def _pack_tables(self, row: int, reading: Vitals, new_names: dict[Names, int]) -> list[bytes]:
        """Return the tables of a reading as records; add unknown row names to `new_names`."""
        records = []
        for table in reading.tables:
            name_id = self._name_ids.get(table.names)
            if name_id is None:
                name_id = new_names.setdefault(table.names, len(self._name_ids) + len(new_names))
            records.append(pack_table(table, row, name_id))
            self._kinds[table.kind] += 1
        return records

    def _pack_block(self) -> bytes:
        """Return a block of the rows that are in none yet."""
        rows, self._rows = self._rows, []
        kinds, self._kinds = self._kinds, Counter()
        row, self._row = self._row, self._row + len(rows)
        start, self._start = self._start, self.files[TABLES].tell()
        place = {"row": row, "rows": len(rows), "start": start, "stop": self._start}
        return pack_block(Columns.of(rows), self._history, **place, kinds=kinds)

    def _put(self, name: str, data: bytes) -> None:
        while data:
            data = data[self.files[name].write(data) or 0 :]
