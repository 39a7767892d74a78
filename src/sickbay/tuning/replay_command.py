"""The command `sickbay replay`."""

import json
import os
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sickbay.arguments import check_path
from sickbay.console import Console, Progress, escape
from sickbay.errors import UsageError
from sickbay.printable import one_line
from sickbay.problems import Problem
from sickbay.problems.profiles import choose
from sickbay.reports import plots, replay_tables
from sickbay.safe_files import usage_error_if_unwritable
from sickbay.tuning.calibration import calibrate
from sickbay.tuning.load_search import read
from sickbay.tuning.recorded_search import RecordedSearch
from sickbay.tuning.replay import replay
from sickbay.tuning.threshold_settings import with_settings


def run(options: Namespace, load: Callable[..., RecordedSearch] = read) -> None:
    """Replay the searches, or calibrate on them, and show the results."""
    problems = with_settings(choose(options.profile), options.settings)
    _check_outputs(options)
    searches = [
        load(source, options.metric, options.direction, options.study) for source in options.sources
    ]
    result = (_calibrate if options.calibrate else _replay)(options, searches, problems)
    if options.json is not None:
        path = Path(options.json)
        with usage_error_if_unwritable(path):
            path.write_text(json.dumps(result, indent=2) + "\n")


def _check_outputs(options: Namespace) -> None:
    """Raise `UsageError` before the work begins if its results could not be written."""
    for name, file in (("--json", options.json), ("--plot", options.plot)):
        if file is None:
            continue
        path = check_path(name, file)
        if not os.path.isdir(path.parent):
            raise UsageError(f"The folder of {file!r} does not exist.")
        place = path if os.path.lexists(path) else path.parent
        if os.path.isdir(path) or not os.access(place, os.W_OK):
            raise UsageError(f"{name} must be a writable file, got {file!r}.")
    if options.plot is not None:
        plots.check_plot("--plot", Path(options.plot))


def _replay(
    options: Namespace, searches: Sequence[RecordedSearch], problems: Sequence[Problem]
) -> Any:
    results = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        for search in searches:
            tick = _track(progress)(search.name, len(search.trials))
            results.append(replay(search, problems, tick).to_json())
    console = Console()
    for result in results:
        _print(console, replay_tables.heading(result, options.profile))
        console.print(replay_tables.indicators(result))
        for trouble in result["troubles"]:
            _print(console, f"{one_line(trouble)}; it was left out there.")
        listed = [*result["indicators"], result["together"]]
        for indicator in listed if options.trials else listed[-1:]:
            if indicator["ended"]:
                _print(console, replay_tables.ended_heading(indicator, options.trials))
                console.print(replay_tables.ended_trials(indicator, console.width, options.trials))
        console.print()
    if options.plot is not None:
        plots.plot_replays(results, Path(options.plot))
    return results


def _calibrate(
    options: Namespace, searches: Sequence[RecordedSearch], problems: Sequence[Problem]
) -> Any:
    with Progress(console=Console(stderr=True), transient=True) as progress:
        calibration = calibrate(searches, problems, _track(progress))
    result, is_safe = calibration.to_json(), calibration.held_out.is_safe
    console = Console()
    names = [search.name for search in searches]
    _print(console, replay_tables.calibration_heading(names, options.profile))
    console.print(replay_tables.folds(result))
    _print(console, "\n" + replay_tables.recommendation(result["settings"], is_safe))
    if options.plot is not None:
        tried = [asdict(tally) for tally in calibration.tried]
        plots.plot_calibration(result, tried, Path(options.plot))
    return result


def _print(console: Console, text: str) -> None:
    """Print a text literally: names in it may look like markup."""
    console.print(text, soft_wrap=True, highlight=False, markup=False, emoji=False)


def _track(progress: Progress) -> Callable[[str, int], Callable[[], object]]:
    """Return a function that starts a progress bar and returns what advances it."""

    def begin(label: str, total: int) -> Callable[[], object]:
        for task in progress.task_ids:
            progress.update(task, visible=False)
        task = progress.add_task(escape(one_line(label)), total=total)
        return lambda: progress.advance(task)

    return begin
