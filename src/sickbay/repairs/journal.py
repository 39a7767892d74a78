"""What is said and written down during a repair: a bar, a line for each attempt, a folder."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from sickbay.errors import UsageError
from sickbay.findings import Finding
from sickbay.remedies import Remedy
from sickbay.repairs.bar import Bar
from sickbay.repairs.outcome import Attempt, Outcome, plain
from sickbay.reports import terminal
from sickbay.screen import Console, Text

ATTEMPTS, OUTCOME, MARK = "attempts.jsonl", "outcome.json", "run.txt"


class Journal:
    """Tells the user how a repair goes, and keeps what is needed to resume it.

    It is silent where no `total` of epochs is given.

    Attributes:
        path: The folder that everything is recorded in, if it is.
        bar: How far it is.
    """

    def __init__(
        self,
        chart: str | os.PathLike[str] | None,
        resume: bool,
        mark: str,
        total: int | None,
        console: Console | None,
    ) -> None:
        self.path = _folder(chart, resume)
        if self.path is not None:
            _check_mark(self.path / MARK, mark)
        self._console = console or Console(stderr=True)
        self._quiet = total is None
        self.bar = Bar(total or 0, self._console, self._quiet)
        if chart is not None and self.path != Path(chart):
            self.say(f"{chart} holds a run already; this one is recorded in {self.path}.")

    def __enter__(self) -> Journal:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def folder(self, attempt: Attempt) -> str | None:
        """Return where an attempt's chart goes."""
        return None if self.path is None else str(self.path / f"attempt-{attempt.number}")

    def end(self, attempt: Attempt) -> None:
        """Say and write down that an attempt is over."""
        self.say(f"attempt {attempt.number}: {attempt}")
        if self.path is not None:
            with (self.path / ATTEMPTS).open("a", encoding="utf-8") as file:
                file.write(json.dumps(plain(asdict(attempt))) + "\n")

    def found(self, finding: Finding) -> None:
        """Show what an attempt was stopped by."""
        if not self._quiet:
            terminal.show(finding, console=self._console)

    def declined(self, remedy: Remedy, reason: str) -> None:
        """Say why a remedy cannot be had."""
        self.say(f"cannot {remedy}: {reason}")

    def say(self, text: str) -> None:
        if not self._quiet:
            self._console.print(Text(f"  {text}", style="dim"), soft_wrap=True)

    def keep(self, attempt: Attempt, record: Any) -> None:
        """Keep what an attempt that is over has left, so that it need not be repeated."""
        if self.path is not None:
            half = self.path / f".attempt-{attempt.number}.part"
            torch.save((_name(attempt), record), half)
            half.replace(self.path / f"attempt-{attempt.number}.pt")

    def kept(self, attempt: Attempt) -> Any:
        """Return what an attempt has left in an earlier run, None if nothing."""
        file = None if self.path is None else self.path / f"attempt-{attempt.number}.pt"
        if file is None or not file.is_file():
            return None
        name, record = torch.load(file, map_location="cpu", weights_only=False)
        return record if name == _name(attempt) else None

    def close(self, outcome: Outcome) -> None:
        """Write down what came of it."""
        if self.path is not None:
            report = json.dumps(outcome.as_json(), indent=2)
            (self.path / OUTCOME).write_text(report + "\n", encoding="utf-8")


def _check_mark(file: Path, mark: str) -> None:
    """Write down what run this is, or say that it is another one."""
    if file.exists() and file.read_text() != mark:
        raise UsageError(
            f"'{file.parent}' holds a run with another model, data or settings; it cannot be "
            "resumed with these."
        )
    file.write_text(mark)


def _name(attempt: Attempt) -> tuple[int | None, str, str]:
    return attempt.parent, attempt.problem, attempt.remedy


def _folder(chart: str | os.PathLike[str] | None, resume: bool) -> Path | None:
    """Return the folder to record in: the one given, or one beside it if that is taken."""
    if chart is None:
        if resume:
            raise UsageError("resume=True needs the folder of the run to resume as chart=.")
        return None
    path, number = Path(chart), 1
    if path.exists() and not path.is_dir():
        raise UsageError(f"chart must be a folder, got the file '{chart}'.")
    while not resume and path.exists() and any(path.iterdir()):
        number += 1
        path = Path(f"{chart}-{number}")
    path.mkdir(parents=True, exist_ok=True)
    return path
