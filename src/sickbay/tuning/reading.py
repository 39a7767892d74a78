"""Reading a search that is over: a folder of charts, a pool file, or an Optuna storage."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import BadZipFile

from sickbay.errors import UsageError, unknown
from sickbay.reports import terminal
from sickbay.tuning import pool
from sickbay.tuning.charted import charts_in
from sickbay.tuning.checks import is_maximized
from sickbay.tuning.recorded import Recorded
from sickbay.tuning.search import Search
from sickbay.tuning.stored import is_journal, stored

Found: TypeAlias = tuple[Sequence[Recorded], Mapping[str, Any]]  # and what is noted of them

SQLITE = b"SQLite format 3"  # how such files begin
USUAL = ("val_accuracy", "val_loss", "loss")  # what is compared by if nothing is said
LOW_IS_GOOD = ("loss", "error", "perplexity")


def read(
    source: str | os.PathLike[str],
    metric: str | None = None,
    direction: str | None = None,
    study: str | None = None,
    notice: Callable[[str], object] = terminal.say,
) -> Search:
    """Return the search in a folder of charts, a pool file, an Optuna storage or its journal file.

    `study` is the name of a study in such a storage, needed if there are several. Metric and
    direction are read from the study or from the notes beside the charts, unless they are given;
    else the metric is the first of `val_accuracy`, `val_loss` and `loss` that was measured, and
    what is called a loss or an error is to be low. Charts that cannot be read are left out, and
    `notice` is told which and why.
    """
    trials, about = _found(os.fspath(source), metric, study, notice)
    name = study or Path(source).stem or os.fspath(source)
    return compared(name, trials, metric or about.get("metric"), direction, about)


def compared(
    name: str,
    trials: Sequence[Recorded],
    metric: str | None,
    direction: str | None,
    about: Mapping[str, Any],
) -> Search:
    """Return a search, with the metric checked that its trials are compared by."""
    trials = [trial for trial in trials if trial.epochs]
    if not trials:
        raise UsageError(f"In {name!r} no trial has got to the end of an epoch.")
    known = {
        key
        for trial in trials
        for epoch in trial.epochs
        for key, value in epoch.scalars.items()
        if isfinite(value)
    }
    metric = metric or next((each for each in USUAL if each in known), USUAL[0])
    if metric not in known:
        raise unknown(f"metric in {name!r} called", metric, known)
    if direction is None and metric == about.get("metric", metric):
        direction = about.get("direction")
    usual = "minimize" if any(word in metric for word in LOW_IS_GOOD) else "maximize"
    return Search(name, trials, metric, is_maximized(direction or usual))


def _found(
    source: str, metric: str | None, study: str | None, notice: Callable[[str], object]
) -> Found:
    path = Path(source)
    if "://" in source or is_journal(path):
        return stored(source, study, metric)
    if study is not None:
        raise UsageError(f"--study names one of a storage; {source!r} is none, got {study!r}.")
    if path.is_dir():
        return _from_folder(path, notice)
    if path.is_file():
        return _from_pool(path)
    possible = "a folder of charts, a pool file or the address of an Optuna storage, or its journal"
    raise UsageError(f"STUDY must be {possible}, got {source!r}.")


def _from_folder(folder: Path, notice: Callable[[str], object]) -> Found:
    trials = charts_in(folder, notice)
    notes = (trial.about for trial in trials if "metric" in trial.about)
    return trials, next(notes, {})


def _from_pool(path: Path) -> Found:
    with path.open("rb") as file:
        if file.read(len(SQLITE)) == SQLITE:
            raise UsageError(f"{str(path)!r} is a database; name it 'sqlite:///{path}'.")
    try:
        known = pool.load(path)
    except (OSError, BadZipFile, KeyError, ValueError) as error:
        why = f"{type(error).__name__}: {error}"
        raise UsageError(f"{str(path)!r} must be a pool of recorded trials ({why}).") from None
    return known.trials, known.about
