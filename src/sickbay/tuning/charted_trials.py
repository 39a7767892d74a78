"""Load trials from their charts, and write and read the note that names the metric."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from sickbay import safe_files
from sickbay.arguments import check_choice, check_path, check_text
from sickbay.chart import Chart
from sickbay.chart.files import HEAD
from sickbay.errors import UsageError
from sickbay.history import History
from sickbay.json_dataclasses import json_object
from sickbay.tuning.recorded_search import DIRECTIONS, Epoch, RecordedTrial

NOTE = "trial.json"  # beside the chart: metric, direction and anything else worth noting
MAX_NOTE_BYTES = 1 << 20


class ChartedTrial(RecordedTrial):
    """A trial whose readings stay on disk until it is judged."""

    def histories(self) -> Iterator[History]:
        return (history for history, _ in Chart.open(self.about["chart"]).epochs())


def note(chart: str | os.PathLike[str], metric: str, direction: str, **about: Any) -> None:
    """Write the metric and direction of a trial beside its chart, for `sickbay replay`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     note(folder, "val_loss", "minimize", number=3)
    ...     read_note(folder)
    {'metric': 'val_loss', 'direction': 'minimize', 'number': 3}
    """
    compared = {"metric": check_text("metric", metric)}
    compared["direction"] = check_choice("direction", direction, DIRECTIONS)
    path = check_path("chart", chart) / NOTE
    text = json.dumps({**compared, **about}, default=str)
    with safe_files.usage_error_if_unwritable(path):
        safe_files.write_atomically(path, text.encode())


def read_note(chart: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what was passed to `note`, or {} if no note can be read."""
    path = check_path("chart", chart) / NOTE
    about: dict[str, Any] = {}
    with suppress(UsageError):
        data = safe_files.read_file(path, MAX_NOTE_BYTES)
        about = json_object("note", safe_files.parse_json(data, path))
    texts = {name: about.pop(name, None) for name in ("metric", "direction")}
    return {name: text for name, text in texts.items() if isinstance(text, str)} | about


def load_charts(folder: Path, notice: Callable[[str], object]) -> list[ChartedTrial]:
    """Return the trials charted in a folder's subfolders, or in itself, in starting order.

    Charts that cannot be read are skipped. `notice` is told about them and about damaged ones.

    Raises:
        UsageError: If there is no readable chart.
    """
    try:
        subfolders = sorted(each for each in folder.iterdir() if each.is_dir())
    except OSError as error:
        raise safe_files.read_error(folder, error.strerror or error) from None
    trials, unreadable = [], []
    for each in [folder, *subfolders]:
        if not os.path.lexists(each / HEAD):  # not a chart, which is not worth a notice
            continue
        try:
            chart = Chart.open(each)
            trials.append(load_chart(chart))
        except UsageError as error:
            unreadable.append(str(error))
            continue
        for damage in chart.damage:
            notice(f"{each}: {damage}.")
    if not trials:
        why = f"none can be read: {unreadable[0]}" if unreadable else "each chart is a folder."
        raise UsageError(f"There are no charts in {str(folder)!r}; {why}")
    for why in unreadable:
        notice(f"skipped a chart: {why}")
    return sorted(trials, key=lambda trial: float(trial.about["started"]))


def load_chart(chart: Chart) -> ChartedTrial:
    """Return the trial recorded in a chart."""
    about = {**read_note(chart.path), "chart": str(chart.path), "started": chart.started}
    return ChartedTrial(chart.path.name, chart.setup, list(_epochs(chart)), about)


def _epochs(chart: Chart) -> Iterator[Epoch]:
    known: dict[str, int] = {}
    for history, seconds in chart.epochs():
        values = {name: history.epochs(name) for name in history.epoch_names()}
        new = {name: each[-1] for name, each in values.items() if len(each) > known.get(name, 0)}
        known = {name: len(each) for name, each in values.items()}
        # Without times, all epochs count as equally long.
        yield Epoch(new, seconds=seconds if seconds > 0 else 1.0)
