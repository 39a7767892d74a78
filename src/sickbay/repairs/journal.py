"""What is said and written down during a repair: a bar, a line for each attempt, a folder."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from torch import nn

from sickbay import safe_files
from sickbay.arguments import short_repr
from sickbay.console import Console, Screen, Text
from sickbay.errors import UsageError
from sickbay.findings import Finding
from sickbay.printable import error_message, printable
from sickbay.remedies import Remedy
from sickbay.repairs import attempt_files, fingerprint
from sickbay.repairs.attempt_files import Record, Weights, fitting
from sickbay.repairs.fingerprint import Fingerprint
from sickbay.repairs.outcome import Attempt, Outcome, plain
from sickbay.repairs.progress_bar import Bar
from sickbay.repairs.report import Report
from sickbay.reports import terminal

ATTEMPTS, OUTCOME, MARK = "attempts.jsonl", "outcome.json", "run.json"
SECONDS = 10.0  # between two times that the best weights of an attempt under way are kept
SHARE = 0.02  # of the time that this may take


class Journal:
    """Tells the user how a repair goes, and keeps what is needed to resume it.

    It is silent where no `total` of epochs is given.

    Args:
        path: The folder to record in, if there is to be one.
        resume: Whether to go on with the run in there.
        mark: Returns what tells this run from others.
        total: Epochs of one training, for the bar.
        console: Where to say something.

    Attributes:
        path: The folder that everything is recorded in, if it is.
        bar: How far it is.
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
        self._ended: list[str] = []
        self._next = time.monotonic() + SECONDS
        if self.path is not None:
            self._begin(self.path / MARK, mark(), resume)
        if path is not None and self.path != path:
            self.say(f"{path} holds a run already; this one is recorded in {self.path}.")

    def __enter__(self) -> Journal:
        self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.bar.stop()
        if self.path is not None and kind is not None and issubclass(kind, KeyboardInterrupt):
            self.say(f"interrupted; resume=True goes on with the run in {self.path}.")

    def folder(self, attempt: Attempt) -> str | None:
        """Return where an attempt's chart goes."""
        return None if self.path is None else str(self.path / f"attempt-{attempt.number}")

    def end(self, attempt: Attempt, *, again: bool = False) -> None:
        """Say and write down that an attempt is over; not `again` if an earlier run has said so."""
        if not again:
            self.say(f"attempt {attempt.number}: {attempt}")
        self._ended.append(json.dumps(plain(asdict(attempt))) + "\n")
        self._write(ATTEMPTS, "".join(self._ended))

    def found(self, finding: Finding) -> None:
        """Show what an attempt was stopped by."""
        if not self._quiet:
            terminal.print_finding(finding, console=self._console)

    def declined(self, remedy: Remedy, reason: str) -> None:
        """Say why a remedy cannot be had."""
        self.say(f"cannot {remedy}: {reason}")

    def say(self, text: str) -> None:
        """Print a line."""
        if not self._quiet:
            self._console.print(Text(f"  {printable(text)}", style="dim"), soft_wrap=True)

    def keep(
        self, attempt: Attempt, reports: Sequence[Report], best: Weights, healthy: Weights
    ) -> None:
        """Keep what an attempt that is over has left, so that it need not be repeated."""
        record = Record(name_of(attempt), True, attempt.epochs, reports, best, healthy)
        self._keep(attempt, record)

    def keep_under_way(self, attempt: Attempt, weights: Weights, *, now: bool) -> None:
        """Keep the best weights so far, now or where it is time."""
        begun = time.monotonic()
        if self.path is None or not attempt.epochs or (begun < self._next and not now):
            return
        self._keep(attempt, Record(name_of(attempt), False, attempt.epochs, best=weights))
        took = time.monotonic() - begun
        self._next = begun + max(SECONDS, took / SHARE)
        if now:
            self.say(f"attempt {attempt.number} was left after {attempt.epochs:g} epochs.")

    def kept(
        self, attempt: Attempt, model: nn.Module, epochs: int
    ) -> tuple[Sequence[Report], Weights, Weights] | None:
        """Return what an attempt has left in an earlier run, None if it is to be trained."""
        if self.path is None or not os.path.lexists(file := self._file(self.path, attempt)):
            return None
        record = attempt_files.load(file)
        if record.name != name_of(attempt):
            return None
        if record.over:
            best, healthy = (fitting(each, model, file) for each in (record.best, record.healthy))
            return record.reports, best, healthy
        self.say(
            f"attempt {attempt.number} was interrupted after {record.epochs:g} of {epochs} "
            "epochs; it is trained again from its start."
        )
        return None

    def close(self, outcome: Outcome) -> None:
        """Write down what came of it."""
        self._write(OUTCOME, json.dumps(outcome.as_json(), indent=2) + "\n")

    def _begin(self, file: Path, mark: Fingerprint, resume: bool) -> None:
        """Write down what run this is, or say that it is another one."""
        if os.path.lexists(file):
            fingerprint.check(file, mark)
            return
        fingerprint.write(file, mark)
        if resume:
            self.say(f"there is no run in {self.path} to resume; this one starts from scratch.")

    def _keep(self, attempt: Attempt, record: Record) -> None:
        if self.path is None:
            return
        try:
            attempt_files.save(self._file(self.path, attempt), record)
        except (UsageError, OSError) as error:
            self.say(f"attempt {attempt.number} cannot be resumed later: {error_message(error)}")

    def _file(self, path: Path, attempt: Attempt) -> Path:
        return path / f"attempt-{attempt.number}.pt"

    def _write(self, name: str, text: str) -> None:
        if self.path is None:
            return
        try:
            safe_files.write_atomically(self.path / name, text.encode())
        except OSError as error:  # the disk is full, say: no reason to lose what is trained
            self.say(f"{name} cannot be written: {error_message(error)}")


def name_of(attempt: Attempt) -> tuple[str, ...]:
    """Return what an attempt is known by."""
    return str(attempt.parent), attempt.problem, attempt.remedy


def _folder(chart: Path, resume: bool) -> Path:
    """Return the folder to record in: the one given, or one beside it if that is taken."""
    path, number = chart, 1
    try:
        while not resume and path.is_dir() and any(path.iterdir()):
            number += 1
            path = chart.with_name(f"{chart.name}-{number}")
        path.mkdir(parents=True, exist_ok=True)
        others = next((each.name for each in path.iterdir()), None)
    except OSError as error:
        why = error.strerror or type(error).__name__
        given = short_repr(str(path))
        raise UsageError(f"chart must be a folder to write in, got {given}: {why}.") from None
    if others is not None and not os.path.lexists(path / MARK):
        raise UsageError(
            f"{str(path)!r} holds no run that can be resumed, but other files, such as {others!r}."
        )
    return path
