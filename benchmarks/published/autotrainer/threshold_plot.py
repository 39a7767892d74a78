"""The plot of precision and recall against each threshold, as in Figure 8."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.published.autotrainer.published import SHORT
from benchmarks.published.autotrainer.tables_of_training import DEFAULTS

LINES = (("precision", "#d95f02", "s--"), ("recall", "#1f77b4", "o-"))


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw a small panel for each threshold."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 4, figsize=(12, 5), sharey=True)
    for axis, (letter, default) in zip(axes.flat, DEFAULTS.items(), strict=True):
        mine = [each for each in rows if each["letter"] == letter]
        for name, colour, style in LINES:
            points = [(each["value"], each[name]) for each in mine if each[name] is not None]
            xs, ys = zip(*points, strict=True) if points else ((), ())
            axis.plot(xs, ys, style, color=colour, label=name, markersize=3, linewidth=1)
        axis.axvline(default, color="0.6", linewidth=1, linestyle=":")
        axis.set_xscale("log")
        axis.set_ylim(-0.05, 1.05)
        axis.set_title(f"{SHORT[mine[0]['problem']]}: {letter}", fontsize=9)
        axis.tick_params(labelsize=7)
    axes.flat[0].legend(fontsize=7, frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
