"""The command `sickbay replay`."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sickbay.arguments import check_path
from sickbay.console import Console, Progress, escape
from sickbay.errors import UsageError
from sickbay.printable import one_line
from sickbay.problems import Problem
from sickbay.problems.profiles import choose
from sickbay.reports import replay_plots, replay_tables
from sickbay.safe_files import write_error
from sickbay.tuning import results_json
from sickbay.tuning.calibration import calibrate
from sickbay.tuning.finished_search import Search
from sickbay.tuning.load_search import read
from sickbay.tuning.replay import Replay, replay
from sickbay.tuning.threshold_settings import changes, with_settings

EXPLAINED = (
    "time saved, and good trials lost (of the ten best, of the best ten per cent), before and "
    "after calibrating on all but what is left out"
)


def run(options: Namespace) -> None:
    """Judge the searches again, or calibrate by them, and show what comes of it."""
    problems = with_settings(choose(options.profile), options.settings)
    _check_targets(options)
    searches = [
        read(source, options.metric, options.direction, options.study) for source in options.sources
    ]
    act = _calibrate if options.calibrate else _replay
    told = act(options, searches, problems)
    if options.json is not None:
        _write(Path(options.json), json.dumps(told, indent=2) + "\n")


def _check_targets(options: Namespace) -> None:
    """Say so, before the work begins, if what comes of it cannot be written."""
    for name, file in (("--json", options.json), ("--plot", options.plot)):
        if file is None:
            continue
        path = check_path(name, file)
        if not os.path.isdir(path.parent):
            raise UsageError(f"The folder of {file!r} must be there, and is not.")
        place = path if os.path.lexists(path) else path.parent
        if os.path.isdir(path) or not os.access(place, os.W_OK):
            raise UsageError(f"{name} must be a file that can be written, got {file!r}.")
    if options.plot is not None:
        replay_plots.check_plot(Path(options.plot))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise write_error(path, error) from None


def _replay(options: Namespace, searches: Sequence[Search], problems: Sequence[Problem]) -> Any:
    replays = []
    with _progress() as progress:
        for search in searches:
            tick = _track(progress)(search.name, len(search.trials))
            replays.append(replay(search, problems, tick))
    console = Console()
    for each in replays:
        _show(console, each, options)
    if options.plot is not None:
        replay_plots.plot_replays(replays, Path(options.plot))
    return [results_json.of_replay(each) for each in replays]


def _show(console: Console, judged: Replay, options: Namespace) -> None:
    _say(console, replay_tables.heading(judged, options.profile))
    console.print(replay_tables.indicators(judged))
    for trouble in judged.troubles:
        _say(console, f"{one_line(trouble)}; it was left out there.")
    listed = (*judged.alone, judged.together) if options.trials else (judged.together,)
    for each in listed:
        if each.ended:
            hidden = not options.trials and len(each.ended) > replay_tables.SHOWN
            more = f", the best {replay_tables.SHOWN} of them; --trials lists all" if hidden else ""
            _say(console, f"\n{len(each.ended)} ended, {each.name}{more}:")
            console.print(replay_tables.ended_trials(each, console.width, options.trials))
    console.print()


def _calibrate(options: Namespace, searches: Sequence[Search], problems: Sequence[Problem]) -> Any:
    with _progress() as progress:
        result = calibrate(searches, problems, _track(progress))
    console = Console()
    names = ", ".join(one_line(search.name) for search in searches)
    _say(console, f"Profile {options.profile}, calibrated by {names}: {EXPLAINED}\n")
    console.print(replay_tables.folds(result))
    told = replay_tables.recommended(result, changes(result.profile, result.problems))
    _say(console, f"\n{told}")
    if options.plot is not None:
        replay_plots.plot_calibration(result, Path(options.plot))
    return results_json.of_calibration(result)


def _say(console: Console, text: str) -> None:
    """Print a text as it is: names in it may look like markup."""
    console.print(text, soft_wrap=True, highlight=False, markup=False, emoji=False)


def _progress() -> Progress:
    return Progress(console=Console(stderr=True), transient=True)


def _track(progress: Progress) -> Callable[[str, int], Callable[[], object]]:
    """Return what begins a bar and returns what moves it on."""

    def begin(what: str, total: int) -> Callable[[], object]:
        for task in progress.task_ids:
            progress.update(task, visible=False)
        task = progress.add_task(escape(one_line(what)), total=total)
        return lambda: progress.advance(task)

    return begin
