"""The command `sickbay replay`."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sickbay.errors import UsageError
from sickbay.problems import Problem
from sickbay.problems.profiles import choose
from sickbay.reports import plots, replayed
from sickbay.screen import Console, Progress
from sickbay.tuning import summary
from sickbay.tuning.calibration import calibrate
from sickbay.tuning.reading import read
from sickbay.tuning.replay import Replay, replay
from sickbay.tuning.search import Search
from sickbay.tuning.settings import changes, with_settings

EXPLAINED = (
    "time saved, and good trials lost (of the ten best, of the best ten per cent), before and "
    "after calibrating on all but what is left out"
)


def run(options: Namespace) -> None:
    """Judge the searches again, or calibrate by them, and show what comes of it."""
    problems = with_settings(choose(options.profile), options.settings)
    if options.plot:
        plots.check_plot(Path(options.plot))
    for file in filter(None, (options.json, options.plot)):
        if not Path(file).absolute().parent.is_dir():
            raise UsageError(f"The folder of {file!r} must be there, and is not.")
    searches = [
        read(source, options.metric, options.direction, options.study) for source in options.sources
    ]
    act = _calibrate if options.calibrate else _replay
    told = act(options, searches, problems)
    if options.json:
        Path(options.json).write_text(json.dumps(told, indent=2) + "\n")


def _replay(options: Namespace, searches: Sequence[Search], problems: Sequence[Problem]) -> Any:
    replays = []
    with _progress() as progress:
        for search in searches:
            tick = _track(progress)(search.name, len(search.trials))
            replays.append(replay(search, problems, tick))
    console = Console()
    for each in replays:
        _show(console, each, options)
    if options.plot:
        plots.plot_replays(replays, Path(options.plot))
    return [summary.of_replay(each) for each in replays]


def _show(console: Console, judged: Replay, options: Namespace) -> None:
    console.print(replayed.heading(judged, options.profile), soft_wrap=True, highlight=False)
    console.print(replayed.indicators(judged))
    for trouble in judged.troubles:
        console.print(f"{trouble}; it was left out there.", soft_wrap=True, highlight=False)
    listed = (*judged.alone, judged.together) if options.trials else (judged.together,)
    for each in listed:
        if each.ended:
            hidden = not options.trials and len(each.ended) > replayed.SHOWN
            more = f", the best {replayed.SHOWN} of them; --trials lists all" if hidden else ""
            console.print(f"\n{len(each.ended)} ended, {each.name}{more}:", highlight=False)
            console.print(replayed.ended_trials(each, console.width, options.trials))
    console.print()


def _calibrate(options: Namespace, searches: Sequence[Search], problems: Sequence[Problem]) -> Any:
    with _progress() as progress:
        result = calibrate(searches, problems, _track(progress))
    console = Console()
    names = ", ".join(search.name for search in searches)
    console.print(
        f"Profile {options.profile}, calibrated by {names}: {EXPLAINED}\n", highlight=False
    )
    console.print(replayed.folds(result))
    told = replayed.recommended(result, changes(result.profile, result.problems))
    console.print(f"\n{told}", soft_wrap=True, highlight=False)
    if options.plot:
        plots.plot_calibration(result, Path(options.plot))
    return summary.of_calibration(result)


def _progress() -> Progress:
    return Progress(console=Console(stderr=True), transient=True)


def _track(progress: Progress) -> Callable[[str, int], Callable[[], object]]:
    """Return what begins a bar and returns what moves it on."""

    def begin(what: str, total: int) -> Callable[[], object]:
        for task in progress.task_ids:
            progress.update(task, visible=False)
        task = progress.add_task(what, total=total)
        return lambda: progress.advance(task)

    return begin
