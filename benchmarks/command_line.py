"""Command lines of the benchmarks: parsers, checks of arguments, consoles and progress bars."""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatchcase
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

WIDTH = 150  # columns when the output is not a terminal


def new_parser(benchmark: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser for `python -m benchmarks.<benchmark>`."""
    return argparse.ArgumentParser(
        prog=f"python -m benchmarks.{benchmark}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def check_file(parser: argparse.ArgumentParser, name: str, file: Path | None) -> None:
    """End with an error unless `file` can be written."""
    if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
        parser.error(f"--{name} must be a file in a folder that exists, got '{file}'.")


def matches(name: str, pattern: str) -> bool:
    """Return whether a name contains the pattern, or matches it if it has wildcards.

    >>> matches("dying_relu/digits-0", "relu"), matches("dying_relu/digits-0", "*-1")
    (True, False)
    """
    wild = any(sign in pattern for sign in "*?[")
    return fnmatchcase(name, pattern) if wild else pattern in name


def output_console() -> Console:
    """Return a console for stdout that is wide enough for the tables if it is not a terminal."""
    return Console(width=None if sys.stdout.isatty() else WIDTH)


def progress_bar(console: Console) -> Progress:
    """Return a progress bar that disappears when the work is done."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    text = TextColumn("{task.description}")
    return Progress(text, *columns, console=console, transient=True)


def write_at_once(path: Path, text: str) -> None:
    """Replace a file in one step, so that nobody reads half of it."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
