"""What a repair prints and writes: a progress bar, a line for each run, and a folder."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from math import isfinite
from pathlib import Path

from sickbay import safe_files
from sickbay.arguments import bad_argument, check_bool, check_path, short_repr
from sickbay.console import (
    BarColumn,
    Column,
    Console,
    MofNCompleteColumn,
    Progress,
    Screen,
    Text,
    TextColumn,
    TimeElapsedColumn,
)
from sickbay.errors import UsageError
from sickbay.findings import Finding
from sickbay.printable import error_message, one_line, printable
from sickbay.repairs import fingerprint, run_files
from sickbay.repairs.fingerprint import Fingerprint
from sickbay.repairs.outcome import Outcome, plain
from sickbay.repairs.run import Run
from sickbay.repairs.run_files import Record, fitting
from sickbay.reports import terminal

ATTEMPTS, OUTCOME, FINGERPRINT = "attempts.jsonl", "outcome.json", "run.json"
SECONDS = 10.0  # between two times that the best weights of an unfinished run are saved
SHARE = 0.02  # of the time that this may take
NAME_WIDTH = 40  # in the progress bar


class Journal:
    """Tells the user how a repair goes, and keeps what is needed to resume it.

    `mark` returns what distinguishes this repair from others, `total` is the number of epochs of
    one run. Without a total, nothing is printed.
    """

    def __init__(
        self,
        path: Path | None,
        resume: bool,
        mark: Callable[[], Fingerprint],
        total: int | None,
        console: Console | None,
    ) -> None:
        self._console = console or Screen(stderr=True)
        self._quiet = total is None
        self.path = None if path is None else _folder(path, resume)
        self.bar = Bar(total or 0, self._console, self._quiet)
        self._lines: list[str] = []
        self._next = time.monotonic() + SECONDS
        if self.path is not None:
            self._begin(self.path / FINGERPRINT, mark(), resume)
        if path is not None and self.path != path:
            self.say(f"{path} already holds a repair; this one is recorded in {self.path}.")

    def __enter__(self) -> Journal:
        self.bar.start()
        return self

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        self.bar.stop()
        if isinstance(error, KeyboardInterrupt):
            note = getattr(error, "add_note", self.say)  # Python 3.10 prints no notes
            note(f"sickbay: {self._interrupted()}")

    def _interrupted(self) -> str:
        if self.path is None:
            return "interrupted. Nothing is recorded; with chart= it could be resumed."
        return (
            f"interrupted. resume=True with chart={str(self.path)!r} continues the repair; the "
            "best weights of each attempt so far are in that folder."
        )

    def say(self, text: str) -> None:
        """Print a line."""
        if not self._quiet:
            self._console.print(Text(f"  {printable(text)}", style="dim"), soft_wrap=True)

    def show(self, finding: Finding) -> None:
        """Print the finding that stopped a run."""
        if not self._quiet:
            terminal.print_finding(finding, console=self._console)

    def chart(self, run: Run) -> str | None:
        """Return the folder for the chart of a run."""
        return None if self.path is None else str(self.path / f"attempt-{run.number}")

    def finish(self, run: Run) -> None:
        """Print and record that a run is over. One of an earlier session is known already."""
        if not run.recorded:
            done = name_of(run), True, run.progress.epochs
            self._save(run, Record(*done, run.heats, run.best, run.healthy))
            self.say(f"attempt {run.number}: {run.attempt}")
        self._lines.append(json.dumps(plain(asdict(run.attempt))) + "\n")
        self._write(ATTEMPTS, "".join(self._lines))

    def keep_unfinished(self, run: Run, *, now: bool = False) -> None:
        """Save the best weights so far, now or every few seconds."""
        begun, epochs = time.monotonic(), run.progress.epochs
        if self.path is None or not epochs or (begun < self._next and not now):
            return
        self._save(run, Record(name_of(run), False, epochs, best=run.best))
        took = time.monotonic() - begun
        self._next = begun + max(SECONDS, took / SHARE)
        if now:
            self.say(f"attempt {run.number} was interrupted after {epochs:g} epochs.")

    def restore(self, run: Run, epochs: int) -> bool:
        """Restore a run that an earlier session has finished. Return False if there is none."""
        file = self._file(run)
        if file is None or not os.path.lexists(file):
            return False
        record, model = run_files.load(file), run.recipe.model
        if record.name != name_of(run):
            return False
        if not record.over:
            self.say(
                f"attempt {run.number} was interrupted after {record.epochs:g} of {epochs} "
                "epochs; it is trained again from its start."
            )
            return False
        run.best, run.healthy = (fitting(w, model, file) for w in (record.best, record.healthy))
        run.recorded = record.heats
        return True

    def close(self, outcome: Outcome) -> None:
        """Record the outcome."""
        self._write(OUTCOME, json.dumps(outcome.as_json(), indent=2) + "\n")

    def _begin(self, file: Path, mark: Fingerprint, resume: bool) -> None:
        """Record which repair this is, or check that it is the one recorded."""
        if os.path.lexists(file):
            fingerprint.check(file, mark)
            return
        safe_files.write_atomically(file, (json.dumps(mark, indent=1) + "\n").encode())
        if resume:
            self.say(f"there is no repair in {self.path} to resume; this one starts from scratch.")

    def _file(self, run: Run) -> Path | None:
        return None if self.path is None else self.path / f"attempt-{run.number}.pt"

    def _save(self, run: Run, record: Record) -> None:
        if (file := self._file(run)) is None:
            return
        try:
            run_files.save(file, record)
        except (UsageError, OSError) as error:
            self.say(f"attempt {run.number} cannot be resumed later: {error_message(error)}")

    def _write(self, name: str, text: str) -> None:
        if self.path is None:
            return
        try:
            safe_files.write_atomically(self.path / name, text.encode())
        except OSError as error:  # a full disk is no reason to lose what is trained
            self.say(f"{name} cannot be written: {error_message(error)}")


class Bar:
    """A bar that counts epochs and disappears when it is stopped."""

    def __init__(self, total: float, console: Console, quiet: bool = False) -> None:
        name = Column(no_wrap=True, max_width=NAME_WIDTH, overflow="ellipsis")
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


def check_output(
    chart: object, resume: object, progress: object, console: object, learn: object
) -> Path | None:
    """Check the arguments about output. Return the folder to record in."""
    for name, value in {"resume": resume, "progress": progress, "learn": learn}.items():
        check_bool(name, value)
    if console is not None and not isinstance(console, Console):
        raise bad_argument("console", "a rich.console.Console or None", console)
    if chart is None and resume:
        raise UsageError("resume=True needs the folder of the repair to resume as chart=.")
    return None if chart is None else check_path("chart", chart)


def name_of(run: Run) -> tuple[str, ...]:
    """Return what identifies a run in its file."""
    attempt = run.attempt
    return str(attempt.parent), attempt.problem, attempt.remedy


def free_folder(chart: Path) -> Path:
    """Return this folder, or one beside it if something is in it."""
    path, number = chart, 1
    while path.is_dir() and any(path.iterdir()):
        number += 1
        path = chart.with_name(f"{chart.name}-{number}")
    return path


def _folder(chart: Path, resume: bool) -> Path:
    """Create the folder to record in: the one given, or one beside it if that is taken."""
    path = chart
    try:
        path = chart if resume else free_folder(chart)
        path.mkdir(parents=True, exist_ok=True)
        other = next((each.name for each in path.iterdir()), None)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise UsageError(
            f"chart must be a folder to write in, got {short_repr(str(path))}: {why}."
        ) from None
    if other is not None and not os.path.lexists(path / FINGERPRINT):
        raise UsageError(
            f"{str(path)!r} holds no repair to resume, but other files, such as {other!r}."
        )
    return path
