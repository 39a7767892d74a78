"""Trials whose charts are on disk."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from sickbay import safe_files
from sickbay.arguments import check_choice, check_path, check_text
from sickbay.chart import Chart
from sickbay.chart.folder import HEAD
from sickbay.errors import UsageError
from sickbay.history import History
from sickbay.json_dataclasses import json_object
from sickbay.tuning.recorded_trial import Epoch, Recorded
from sickbay.tuning.search_arguments import DIRECTIONS

NOTE = "trial.json"  # beside the chart: metric, direction, and what else there is to say
MOST_NOTE = 1 << 20  # bytes of it


class Charted(Recorded):
    """A trial whose readings stay on disk until it is judged."""

    def histories(self) -> Iterator[History]:
        """Let the trial happen again: its one history after each epoch."""
        for history, _ in Chart.open(self.about["chart"]).epochs():
            yield history


def note(chart: str | os.PathLike[str], metric: str, direction: str, **about: Any) -> None:
    """Write beside a chart what its trial was compared by, for `sickbay replay`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     note(folder, "val_loss", "minimize", number=3)
    ...     noted(folder)
    {'metric': 'val_loss', 'direction': 'minimize', 'number': 3}
    """
    compared = {"metric": check_text("metric", metric)}
    compared["direction"] = check_choice("direction", direction, DIRECTIONS)
    written = json.dumps({**compared, **about}, default=str)
    path = check_path("chart", chart) / NOTE
    try:
        safe_files.write_atomically(path, written.encode())
    except OSError as error:
        raise safe_files.write_error(path, error) from None


def noted(chart: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what `note` was given, {} if there is nothing that can be read."""
    path = check_path("chart", chart) / NOTE
    about: dict[str, Any] = {}
    with suppress(UsageError):
        about = json_object(
            "note", safe_files.parse_json(safe_files.read_file(path, MOST_NOTE), path)
        )
    texts = {name: about.pop(name, None) for name in ("metric", "direction")}
    return {name: text for name, text in texts.items() if isinstance(text, str)} | about


def charted(path: str | os.PathLike[str]) -> Charted:
    """Return the trial that is charted in a folder."""
    return _trial(Chart.open(path))


def charts_in(place: Path, notice: Callable[[str], object]) -> list[Charted]:
    """Return the trials charted in the folders of a folder, or in itself, as they began.

    A chart that cannot be read is left out, and `notice` is told why; so it is of damage. A
    `UsageError` if none can be read.
    """
    try:
        inner = sorted(each for each in place.iterdir() if each.is_dir())
    except OSError as error:
        raise safe_files.read_error(place, error.strerror or error) from None
    trials, left_out = [], []
    for each in [place, *inner]:
        if not os.path.lexists(each / HEAD):  # no chart, which is no reason to say anything
            continue
        try:
            chart = Chart.open(each)
            trials.append(_trial(chart))
        except UsageError as error:
            left_out.append(str(error))
            continue
        for damage in chart.damage:
            notice(f"{each}: {damage}.")
    if not trials:
        why = f"none can be read: {left_out[0]}" if left_out else "a chart is a folder of its own."
        raise UsageError(f"There are no charts in {str(place)!r}; {why}")
    for why in left_out:
        notice(f"a chart is left out: {why}")
    return sorted(trials, key=lambda trial: float(trial.about["started"]))


def _trial(chart: Chart) -> Charted:
    about = {**noted(chart.path), "chart": str(chart.path), "started": chart.started}
    return Charted(chart.path.name, chart.setup, list(_epochs(chart)), about)


def _epochs(chart: Chart) -> Iterator[Epoch]:
    known: dict[str, int] = {}
    for history, seconds in chart.epochs():
        values = {name: history.epochs(name) for name in history.epoch_names()}
        new = {name: each[-1] for name, each in values.items() if len(each) > known.get(name, 0)}
        known = {name: len(each) for name, each in values.items()}
        # Where readings have no time, every epoch takes the same.
        yield Epoch(new, seconds=seconds if seconds > 0 else 1.0)
