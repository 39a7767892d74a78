"""A plot of a learning rate range test, if matplotlib is installed."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from sickbay.errors import UsageError
from sickbay.reports.checkup_report import Result
from sickbay.reports.replay_plots import LOST, SAVED, check_plot, save

SUGGESTED = "#55a868"


def plot_range(result: Result, path: str | PathLike[str]) -> None:
    """Plot the loss against the learning rate, with the rate in use and the suggested one."""
    if not result.curves:
        raise UsageError(f"result must be of a learning rate range test, got {result.test!r}.")
    path = Path(path)
    check_plot(path)
    from matplotlib.figure import Figure

    rates, losses = result.curves["rate"], result.curves["loss"]
    figure = Figure(figsize=(7.5, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(rates, losses, color=SAVED)
    marks = (("rate", "in use", LOST), ("suggested", "suggested", SUGGESTED))
    for name, label, colour in marks:
        if rate := result.evidence.get(name):
            axes.axvline(rate, color=colour, linestyle="--", label=f"{label}: {rate:.2g}")
    known = sorted(loss for loss in losses if loss < float("inf"))
    top = 1.5 * max(losses[0], known[len(known) // 2])  # a diverged loss would hide the rest
    axes.set(xscale="log", xlabel="learning rate", ylabel="loss", ylim=(min(0, known[0]), top))
    if result.evidence:
        axes.legend()
    save(figure, path)
