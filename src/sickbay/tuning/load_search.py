"""Reading a search that is over: a folder of charts, a pool file, or an Optuna storage."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from sickbay.arguments import bad_argument, check_choice, check_path, check_text
from sickbay.errors import UsageError
from sickbay.reports import terminal
from sickbay.safe_files import open_regular_file
from sickbay.tuning import pool
from sickbay.tuning.charted_trials import charts_in
from sickbay.tuning.finished_search import Search
from sickbay.tuning.optuna_trials import is_journal, stored
from sickbay.tuning.recorded_trial import Recorded
from sickbay.tuning.search_arguments import is_maximized

SQLITE = b"SQLite format 3"  # how such files begin
SOURCES = "a folder of charts, a pool file or the address of an Optuna storage, or its journal"
USUAL = ("val_accuracy", "val_loss", "loss")  # what is compared by if nothing is said
LOW_IS_GOOD = ("loss", "error", "perplexity")


class Found(NamedTuple):
    """Trials, what is noted of them, and why others were left out."""

    trials: Sequence[Recorded]
    about: Mapping[str, Any]
    damaged: tuple[str, ...] = ()


def read(
    source: str | os.PathLike[str],
    metric: str | None = None,
    direction: str | None = None,
    study: str | None = None,
    notice: Callable[[str], object] = terminal.print_notice,
) -> Search:
    """Return the search in a folder of charts, a pool file, an Optuna storage or its journal file.

    `study` is the name of a study in such a storage, needed if there are several. Metric and
    direction are read from the study or from the notes beside the charts, unless they are given;
    else the metric is the first of `val_accuracy`, `val_loss` and `loss` that was measured, and
    what is called a loss or an error is to be low. Charts and trials that are damaged are left out,
    and `notice` is told which or how many, and why.
    """
    given = source if isinstance(source, str) else str(check_path("STUDY", source))
    if not given or "\0" in given:
        raise bad_argument("STUDY", SOURCES, source)
    for name, value in (("metric", metric), ("direction", direction), ("study", study)):
        if value is not None:
            check_text(name, value)
    trials, about, damaged = _found(given, metric, study, notice)
    if damaged and not trials:
        raise UsageError(f"All trials in {given!r} are damaged, the first: {damaged[0]}")
    if damaged:
        many = "1 trial is" if len(damaged) == 1 else f"{len(damaged)} trials are"
        notice(f"{given}: {many} damaged and left out; {damaged[0]}")
    name = study or Path(given).stem or given
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
    check_choice(f"metric in {name!r} called", metric, known)
    if direction is None and metric == about.get("metric", metric):
        direction = about.get("direction")
    usual = "minimize" if any(word in metric for word in LOW_IS_GOOD) else "maximize"
    return Search(name, trials, metric, is_maximized(direction or usual))


def _found(
    source: str, metric: str | None, study: str | None, notice: Callable[[str], object]
) -> Found:
    path = Path(source)
    if "://" in source or is_journal(path):
        return Found(*stored(source, study, metric))
    if study is not None:
        raise UsageError(f"--study names one of a storage; {source!r} is none, got {study!r}.")
    if os.path.isdir(path):
        return _from_folder(path, notice)
    if os.path.lexists(path):
        return _from_pool(path)
    raise UsageError(f"STUDY must be {SOURCES}, got {source!r}.")


def _from_folder(folder: Path, notice: Callable[[str], object]) -> Found:
    trials = charts_in(folder, notice)
    notes = (trial.about for trial in trials if "metric" in trial.about)
    return Found(trials, next(notes, {}))


def _from_pool(path: Path) -> Found:
    with open_regular_file(path) as file:
        if file.read(len(SQLITE)) == SQLITE:
            raise UsageError(f"{str(path)!r} is a database; name it 'sqlite:///{path}'.")
    known = pool.load(path)
    return Found(known.trials, known.about, known.damaged)
