"""A plot of the best score so far over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from benchmarks.tuning.figures import rising
from benchmarks.tuning.pool_part import Array, Part
from benchmarks.tuning.run_searches import OTHER, Search
from benchmarks.tuning.simulated_search import curve

COLOURS = {
    "plain": "#555555",
    "median": "#e69f00",
    "extrapolation": "#56b4e9",
    "bttackler": "#cc79a7",
    "bttackler_paper": "#0072b2",
    "tuning": "#009e73",
}
MOMENTS = np.linspace(0.05, 1, 96)  # fractions of the budget


def draw(
    searches: Iterable[Search],
    parts: Mapping[str, Part],
    budgets: Mapping[str, float],
    path: Path,
) -> None:
    """Draw one panel for each task and one line for each rule: the mean over its searches."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines: dict[str, dict[str, list[Array]]] = defaultdict(lambda: defaultdict(list))
    for each in searches:
        if each.seed < OTHER:
            part, budget = parts[each.task], budgets[each.task]
            scores = best_at(rising(curve(part, each.played)), MOMENTS * budget)
            lines[each.task][each.rule].append(part.sign * scores)
    figure, axes = pyplot.subplots(1, len(lines), figsize=(4.6 * len(lines), 3.8), squeeze=False)
    for axis, (task, rules) in zip(axes[0], sorted(lines.items()), strict=True):
        for rule in [rule for rule in COLOURS if rule in rules]:
            table = np.array(rules[rule])
            middle = np.nanmean(table, axis=0)
            error = 1.96 * np.nanstd(table, axis=0) / len(table) ** 0.5
            axis.plot(MOMENTS, middle, color=COLOURS[rule], label=rule, linewidth=1.6)
            axis.fill_between(
                MOMENTS,
                middle - error,
                middle + error,
                color=COLOURS[rule],
                alpha=0.15,
                linewidth=0,
            )
        axis.set_title(task)
        axis.set_xlabel("time, as a share of the budget")
        axis.set_ylabel(f"best {parts[task].metric} so far")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def best_at(points: list[tuple[float, float]], moments: Array) -> Array:
    """Return the best score at each moment, NaN before the first.

    >>> best_at([(1.0, 0.5), (3.0, 0.6)], np.array([0.5, 1.0, 2.9, 3.0])).tolist()
    [nan, 0.5, 0.5, 0.6]
    """
    times, scores = np.array([(-np.inf, np.nan), *points]).T
    found: Array = scores[np.searchsorted(times, moments, "right") - 1]
    return found
