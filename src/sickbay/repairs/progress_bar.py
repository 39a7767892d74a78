"""The progress bar: epochs of all attempts, what is in training, and the best score so far."""

from __future__ import annotations

from math import isfinite

from sickbay.console import (
    BarColumn,
    Column,
    Console,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from sickbay.printable import one_line

WIDTH = 40  # of the name


class Bar:
    """A bar that counts epochs and disappears when it is stopped."""

    def __init__(self, total: float, console: Console, quiet: bool = False) -> None:
        name = Column(no_wrap=True, max_width=WIDTH, overflow="ellipsis")
        self._progress = Progress(
            TextColumn("{task.description}", table_column=name, markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("epochs{task.fields[best]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=quiet,
        )
        self._task = self._progress.add_task("training", total=total, best="")
        self.start, self.stop = self._progress.start, self._progress.stop

    def show(self, name: str, done: float, total: float, best: float) -> None:
        """Show what is in training, epochs done and expected, and the best score."""
        score = f", best score {best:.3f}" if isfinite(best) else ""
        total, name = max(done, total), one_line(name)
        self._progress.update(self._task, description=name, completed=done, total=total, best=score)
