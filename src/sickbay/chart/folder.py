"""The folder of a chart: the names of its files, how to create them, and where they are now."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from io import FileIO
from itertools import count
from pathlib import Path

from sickbay.arguments import check_path
from sickbay.errors import UsageError
from sickbay.safe_files import create_file, write_atomically

SCHEMA = 2
HEAD, EVENTS, TABLES = "chart.json", "events.jsonl", "tables.bin"
BLOCKS, LINES = "scalars.bin", "scalars.jsonl"
# In the order of writing, so that row names precede their table, and tables their step.
STREAMS = (EVENTS, TABLES, BLOCKS, LINES)


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
