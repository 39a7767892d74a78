"""Load a finished search from a folder of charts, an Optuna storage or its journal file."""

import os
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from sickbay.arguments import bad_argument, check_choice, check_path, check_text
from sickbay.errors import UsageError
from sickbay.reports import terminal
from sickbay.safe_files import open_regular_file
from sickbay.tuning.charted_trials import load_charts
from sickbay.tuning.optuna_trials import is_journal, load_study
from sickbay.tuning.recorded_search import (
    DEFAULT_METRIC,
    RecordedSearch,
    RecordedTrial,
    is_maximized,
)

SQLITE = b"SQLite format 3"  # the first bytes of a database file
SOURCES = "a folder of charts, the address of an Optuna storage or an Optuna journal"
DEFAULT_METRICS = (DEFAULT_METRIC, "val_loss", "loss")
MINIMIZED = ("loss", "error", "perplexity")  # metrics with these words in their names


def read(
    source: str | os.PathLike[str],
    metric: str | None = None,
    direction: str | None = None,
    study: str | None = None,
    notice: Callable[[str], object] = terminal.print_notice,
) -> RecordedSearch:
    """Return the search in a folder of charts, an Optuna storage or an Optuna journal file.

    Damaged charts and trials are skipped, and `notice` is told how many and why.

    Args:
        source: The folder, the address of the storage, or the journal file.
        metric: The metric that trials are compared by. By default it is read from the study or
            from the notes beside the charts; failing that, it is the first of `val_accuracy`,
            `val_loss` and `loss` that was measured.
        direction: "maximize" or "minimize". Read like the metric; failing that, losses and errors
            are minimized, everything else is maximized.
        study: The name of the study. Needed if the storage has several.
        notice: Called with each message about skipped trials.
    """
    path = source if isinstance(source, str) else str(check_path("STUDY", source))
    if not path or "\0" in path:
        raise bad_argument("STUDY", SOURCES, source)
    for name, value in (("metric", metric), ("direction", direction), ("study", study)):
        if value is not None:
            check_text(name, value)
    trials, about, damaged = _load(path, metric, study, notice)
    return make_search(path, trials, about, damaged, metric, direction, notice, study)


def make_search(
    source: str,
    trials: Sequence[RecordedTrial],
    about: Mapping[str, Any],
    damaged: Sequence[str],
    metric: str | None,
    direction: str | None,
    notice: Callable[[str], object],
    name: str | None = None,
) -> RecordedSearch:
    """Return trials as a search. Check the metric, and report damaged trials.

    `about` holds the metric and direction as far as they were noted.
    """
    if damaged and not trials:
        raise UsageError(f"All trials in {source!r} are damaged, the first: {damaged[0]}")
    if damaged:
        skipped = "1 damaged trial" if len(damaged) == 1 else f"{len(damaged)} damaged trials"
        notice(f"{source}: skipped {skipped}; {damaged[0]}")
    name = name or Path(source).stem or source
    trials = [trial for trial in trials if trial.epochs]
    if not trials:
        raise UsageError(f"In {name!r} no trial has finished an epoch.")
    measured = {
        key
        for trial in trials
        for epoch in trial.epochs
        for key, value in epoch.scalars.items()
        if isfinite(value)
    }
    metric = metric or about.get("metric")
    metric = metric or next((each for each in DEFAULT_METRICS if each in measured), DEFAULT_METRIC)
    check_choice(f"metric in {name!r} called", metric, measured)
    if direction is None and metric == about.get("metric", metric):
        direction = about.get("direction")
    usual = "minimize" if any(word in metric for word in MINIMIZED) else "maximize"
    return RecordedSearch(name, trials, metric, is_maximized(direction or usual))


def _load(
    source: str, metric: str | None, study: str | None, notice: Callable[[str], object]
) -> tuple[Sequence[RecordedTrial], Mapping[str, Any], Sequence[str]]:
    """Return the trials, their metric and direction if noted, and why others were skipped."""
    path = Path(source)
    if "://" in source or is_journal(path):
        return load_study(source, study, metric)
    if study is not None:
        raise UsageError(f"--study needs an Optuna storage, got {study!r} with {source!r}.")
    if os.path.isdir(path):
        trials = load_charts(path, notice)
        notes = (trial.about for trial in trials if "metric" in trial.about)
        return trials, next(notes, {}), ()
    if path.suffix == ".zip":
        command = "`python -m benchmarks.tuning replay` in the repository"
        raise UsageError(f"{source!r} looks like a pool of the benchmarks, which {command} reads.")
    if os.path.lexists(path):
        with open_regular_file(path) as file:
            if file.read(len(SQLITE)) == SQLITE:
                raise UsageError(f"{source!r} is a database; name it 'sqlite:///{source}'.")
    raise UsageError(f"STUDY must be {SOURCES}, got {source!r}.")
