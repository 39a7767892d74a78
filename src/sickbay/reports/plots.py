"""Plots of `sickbay replay` and of a learning rate range test; they need matplotlib.

Those of a replay take the same plain values that `--json` writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from math import inf
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from sickbay.arguments import check_path
from sickbay.errors import UsageError
from sickbay.printable import one_line
from sickbay.safe_files import usage_error_if_unwritable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sickbay.reports.checkup_report import Result

Json: TypeAlias = Mapping[str, Any]
SAVED, LOST, BETTER = "#4c72b0", "#c44e52", "#55a868"


def check_plot(name: str, path: Path) -> None:
    """Raise `UsageError` if no plot can be written to `path`, the value of the argument `name`."""
    if find_spec("matplotlib") is None:
        raise UsageError(f"{name} needs the package matplotlib: pip install matplotlib")
    from matplotlib.figure import Figure

    kinds = Figure().canvas.get_supported_filetypes()
    if path.suffix.removeprefix(".") not in kinds:
        possible = ", ".join(sorted(kinds))
        raise UsageError(f"{name} must end in one of {possible}, got {str(path)!r}.")


def plot_replays(replays: Sequence[Json], path: Path) -> None:
    """Plot the time each indicator would have saved, with the good trials it would have lost."""
    from matplotlib.figure import Figure

    height = 1.2 + sum(0.35 * len(each["indicators"]) + 1.4 for each in replays)
    figure = Figure(figsize=(7.5, height), layout="constrained")
    all_axes = figure.subplots(len(replays), squeeze=False)[:, 0]
    for axes, replay in zip(all_axes, replays, strict=True):
        _plot_bars(axes, replay)
    _save(figure, path)


def plot_calibration(calibration: Json, tried: Sequence[Json], path: Path) -> None:
    """Plot time saved against good trials lost, for all tried settings and for the results."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5), layout="constrained")
    axes = figure.subplots()
    axes.scatter(*_points(tried), s=8, color="0.75", label="settings tried")
    by_fold = [fold["after"] for fold in calibration["folds"]]
    marks = (
        ("the profile as it is", [calibration["before"]], "s", LOST),
        ("left out, one part each", by_fold, "o", "#8fb0dd"),
        ("all, each left out once", [calibration["held_out"]], "D", SAVED),
        ("calibrated on all", [calibration["after"]], "^", BETTER),
    )
    for label, tallies, mark, colour in marks:
        axes.scatter(*_points(tallies), s=60, marker=mark, color=colour, label=label, zorder=3)
    axes.set(xlabel="lost of the best 10 % of the trials (%)", ylabel="time saved (%)")
    axes.set(xlim=(-2, None), ylim=(0, 100), title="Time saved, and good trials lost")
    axes.legend(loc="lower right")
    _save(figure, path)


def plot_range(result: Result, path: str | PathLike[str]) -> None:
    """Plot the loss against the learning rate, with the rate in use and the suggested one."""
    rates, losses = (result.curves.get(name, ()) for name in ("rate", "loss"))
    known = sorted(loss for loss in losses if loss < inf)
    if not known:
        rule = "of a learning rate range test with finite losses"
        raise UsageError(f"result must be {rule}, got {result.test!r}.")
    path = check_path("path", path)
    check_plot("path", path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(rates, losses, color=SAVED)
    marks = (("rate", "in use", LOST), ("suggested", "suggested", BETTER))
    for name, label, colour in marks:
        if rate := result.evidence.get(name):
            axes.axvline(rate, color=colour, linestyle="--", label=f"{label}: {rate:.2g}")
    top = 1.5 * max(losses[0], known[len(known) // 2])  # a diverged loss would hide the rest
    axes.set(xscale="log", xlabel="learning rate", ylabel="loss", ylim=(min(0, known[0]), top))
    axes.legend()
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    with usage_error_if_unwritable(path):
        figure.savefig(path, dpi=120)


def _plot_bars(axes: Axes, replay: Json) -> None:
    rows = [*replay["indicators"], replay["together"]]
    shares = [100 * each["saved"] for each in rows]
    colours = [LOST if each["lost_of_ten"] else SAVED for each in rows]
    axes.barh([each["name"] for each in rows], shares, color=colours)
    axes.invert_yaxis()
    for place, each in enumerate(rows):
        ended, lost = len(each["ended"]), each["lost_of_ten"]
        text = f" {ended} of {replay['trials']} ended, {lost} of the best 10 lost"
        axes.text(shares[place], place, text, va="center", fontsize=8)
    axes.set_title(one_line(replay["search"]), parse_math=False)
    axes.set(xlabel="time saved (%)", xlim=(0, 150), xticks=range(0, 101, 20))
    axes.spines[["top", "right"]].set_visible(False)


def _points(tallies: Sequence[Json]) -> tuple[list[float], list[float]]:
    lost = [
        100 * each["lost_of_best_ten_per_cent"] / max(1, each["best_ten_per_cent"])
        for each in tallies
    ]
    return lost, [100 * each["saved"] for each in tallies]
