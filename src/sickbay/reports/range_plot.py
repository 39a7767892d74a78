"""A drawing of a range test, where matplotlib is installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sickbay.reports.replay_plots import LOST, SAVED, check_plot, save


def plot_range(
    rates: Sequence[float],
    losses: Sequence[float],
    path: Path,
    *,
    chosen: float | None = None,
    suggested: float | None = None,
) -> None:
    """Draw the loss against the learning rate, with the rate that is set and the suggested one."""
    check_plot(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(rates, losses, color=SAVED)
    for rate, label, colour in ((chosen, "as set", LOST), (suggested, "suggested", "#55a868")):
        if rate:
            axes.axvline(rate, color=colour, linestyle="--", label=f"{label}: {rate:.2g}")
    known = sorted(each for each in losses if each < float("inf"))
    top = 1.5 * max(losses[0], known[len(known) // 2])  # what has blown up would hide the rest
    axes.set(xscale="log", xlabel="learning rate", ylabel="loss", ylim=(min(0, known[0]), top))
    if chosen or suggested:
        axes.legend()
    save(figure, path)
