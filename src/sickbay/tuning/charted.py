"""Trials whose charts are on disk."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sickbay.chart import Chart
from sickbay.errors import UsageError
from sickbay.history import History
from sickbay.tuning.recorded import Epoch, Recorded

NOTE = "trial.json"  # beside the chart: metric, direction, and what else there is to say


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
    text = json.dumps({"metric": metric, "direction": direction, **about}, default=str)
    Path(chart, NOTE).write_text(text)


def noted(chart: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what `note` was given, {} if there is nothing that can be read."""
    try:
        return dict(json.loads(Path(chart, NOTE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return {}


def charted(path: str | os.PathLike[str]) -> Charted:
    """Return the trial that is charted in a folder."""
    chart = Chart.open(path)
    about = {**noted(path), "chart": str(chart.path), "started": chart.started}
    return Charted(chart.path.name, chart.setup, list(_epochs(chart)), about)


def charts_in(folder: Path) -> list[Charted]:
    """Return the trials charted in the folders of a folder, or in itself, as they began."""
    trials = []
    for place in [folder, *sorted(each for each in folder.iterdir() if each.is_dir())]:
        try:
            trials.append(charted(place))
        except UsageError:  # no chart, which is no reason to leave out the others
            continue
    return sorted(trials, key=lambda trial: float(trial.about["started"]))


def _epochs(chart: Chart) -> Iterator[Epoch]:
    known: dict[str, int] = {}
    for history, seconds in chart.epochs():
        values = {name: history.epochs(name) for name in history.epoch_names()}
        new = {name: each[-1] for name, each in values.items() if len(each) > known.get(name, 0)}
        known = {name: len(each) for name, each in values.items()}
        # Where readings have no time, every epoch takes the same.
        yield Epoch(new, seconds=seconds if seconds > 0 else 1.0)
