"""Precision and recall against every threshold, varied one at a time.

The other problems keep their thresholds. A finding that one of them explains does not count against
the varied problem.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import worker_pool
from benchmarks.detection.figures import Row, share
from benchmarks.detection.judge_runs import Run, accepted
from benchmarks.report_page import Sheet, number
from sickbay.chart import Chart
from sickbay.doctor.causes import Causes
from sickbay.errors import UsageError, unknown_name
from sickbay.history import History
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from sickbay.problems.profiles import PROFILES
from sickbay.problems.shared.base import Source
from sickbay.thresholds import is_number, settings

FACTORS = (1 / 30, 1 / 10, 1 / 4, 1 / 2, 1, 2, 4, 10, 30)
COLUMNS = 6  # panels side by side
Key = tuple[str, str, float]  # problem, threshold, value


class TrackingCauses(Causes):
    """Also records which readings were new, and answers what a reported problem explains."""

    fresh: frozenset[Source] = frozenset()

    def explains(self, name: str) -> bool:
        """Return whether a reported problem explains another one."""
        said = (self.problems[each] for each in self._said if each != name)
        return any(name in problem.explains for problem in said)

    def _fresh(self, history: History) -> set[Source]:
        fresh = super()._fresh(history)
        self.fresh = frozenset(fresh)
        return fresh


@dataclass
class Trial:
    """A problem with one threshold varied."""

    problem: Problem
    found: bool = False  # whether it was ever found
    said: int | None = None  # the first step at which it was found and nothing explained it
    guard: Guard = field(default_factory=lambda: Guard(lambda *_: None))

    def ask(self, history: History, causes: TrackingCauses) -> None:
        if self.said is not None or causes.fresh.isdisjoint(self.problem.reads):
            return
        name = self.problem.name()
        if self.guard.run(name, self.problem.check, history) is not None:
            self.found = True
            self.said = None if causes.explains(name) else history.step


def values(default: float, above: float | None, least: float | None) -> list[float]:
    """Return values around a default. Fractions stay below 1; other values are multiplied.

    >>> values(8, None, 1), [round(value, 2) for value in values(0.5, 0, None)]
    ([1, 2, 3, 4, 8, 15, 29, 71, 211], [0.03, 0.09, 0.2, 0.33, 0.5, 0.67, 0.8, 0.91, 0.97])
    """
    bound = above if above is not None else least or 0.0
    if isinstance(default, int):
        far = default - bound or 1
        return sorted({default, *(round(bound + far * factor) for factor in FACTORS)})
    if 0.05 <= default < 1:
        odds = default / (1 - default)
        return [default if each == 1 else odds * each / (1 + odds * each) for each in FACTORS]
    if default == bound:
        return [bound, *(bound + 0.01 * factor for factor in FACTORS[1:])]
    return [default if each == 1 else bound + (default - bound) * each for each in FACTORS]


def moved(names: Sequence[str]) -> dict[Key, Problem]:
    """Return each problem of the default profile with each of its thresholds varied."""
    listed = {problem.name(): problem for problem in PROFILES["default"]}
    for name in names:
        if name not in listed:
            raise unknown_name("problem", name, listed)
    trials: dict[Key, Problem] = {}
    for name in names or listed:
        for limit in filter(is_number, settings(type(listed[name]))):
            now = getattr(listed[name], limit.name)
            for value in values(now, limit.metadata.get("above"), limit.metadata.get("least")):
                try:
                    changed: Problem = replace(listed[name], **{limit.name: value})  # type: ignore[type-var]
                except UsageError:  # not a legal value
                    continue
                trials[name, limit.name, value] = changed
    return trials


def try_all(runs: Path, names: Sequence[str], run: Run) -> tuple[set[Key], dict[Key, int]]:
    """Return which trials found their problem in a run, and at which step they reported it."""
    trials = {key: Trial(problem) for key, problem in moved(names).items()}
    causes = TrackingCauses(PROFILES["default"], Guard(lambda *_: None))
    for history in Chart.open(runs / run.name).replay():
        causes.judge(history)
        for trial in trials.values():
            trial.ask(history, causes)
    found = {key for key, trial in trials.items() if trial.found}
    return found, {key: trial.said for key, trial in trials.items() if trial.said is not None}


def sweep(
    runs: Path,
    judged: Sequence[Run],
    names: Sequence[str],
    figure: Path,
    out: Console,
    aside: Console,
) -> tuple[list[Row], Sheet]:
    """Vary every threshold, and print and plot precision and recall."""
    keys = moved(names)
    results: list[tuple[Run, set[Key], dict[Key, int]]] = []
    counted = [run for run in judged if run.counts]
    for run, result in worker_pool.work(partial(try_all, runs, names), counted, "sweeping", aside):
        if isinstance(result, worker_pool.Failure):
            out.print(f"failed: {run.name}: {result.why}", markup=False)
        else:
            results.append((run, *result))
    rows = [row(key, results) for key in keys]
    table = sheet(rows)
    table.show(out)
    draw(rows, figure)
    out.print(f"Plotted in {figure}.")
    return rows, table


def row(key: Key, results: Sequence[tuple[Run, set[Key], dict[Key, int]]]) -> Row:
    """Return precision and recall of one problem at one value of a threshold."""
    name, threshold, value = key
    mine = [key in found for run, found, _ in results if run.problem == name]
    reported = [(run, said[key]) for run, _, said in results if key in said]
    right = [name in accepted(run.problem) and step >= run.first for run, step in reported]
    (default,) = (each for each in PROFILES["default"] if each.name() == name)
    return {
        "problem": name,
        "threshold": threshold,
        "value": value,
        "is_default": value == getattr(default, threshold),
        "recall": share(sum(mine), len(mine)),
        "precision": share(sum(right), len(right)),
        "said": len(reported),
        "healthy": sum(not run.problem for run, _ in reported),
    }


def panels(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield each threshold with its rows."""
    titles = dict.fromkeys(f"{each['problem']}.{each['threshold']}" for each in rows)
    for title in titles:
        yield title, [each for each in rows if f"{each['problem']}.{each['threshold']}" == title]


def sheet(rows: Sequence[Row]) -> Sheet:
    most, lines = max(len(mine) for _, mine in panels(rows)), []
    for title, mine in panels(rows):
        cells = [
            f"{'*' if each['is_default'] else ''}{number(each['value'])}\n"
            f"{hundredths(each['recall'])}/{hundredths(each['precision'])}/{each['healthy']}"
            for each in mine
        ]
        lines.append([title.replace(".", "\n."), *cells, *[""] * (most - len(cells))])
    note = (
        "Below each value (* is the default): recall in %, precision in %, and the number of "
        "healthy runs with this finding."
    )
    return Sheet("Thresholds, calibration half", note, ("threshold", *[""] * most), lines)


def hundredths(part: float) -> str:
    return f"{100 * part:.0f}" if isfinite(part) else "-"


def draw(rows: Sequence[Row], path: Path) -> None:
    """Plot a small panel for each threshold."""
    try:
        import matplotlib
    except ImportError:
        raise UsageError("--sweep draws with matplotlib: pip install matplotlib") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = list(panels(rows))
    lines = -(-len(shown) // COLUMNS)
    figure, axes = pyplot.subplots(
        lines, COLUMNS, figsize=(3 * COLUMNS, 2.1 * lines), squeeze=False, sharey=True
    )
    for axis, (title, mine) in zip(axes.flat, shown, strict=False):
        panel(axis, title, mine)
    for axis in axes.flat[len(shown) :]:
        axis.set_axis_off()
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper left", ncols=2, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.2 / lines))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def panel(axis: Any, title: str, rows: Sequence[Row]) -> None:
    xs = [each["value"] for each in rows]
    for key, color, style in (("recall", "#1f77b4", "o-"), ("precision", "#d95f02", "s--")):
        points = [(x, each[key]) for x, each in zip(xs, rows, strict=True) if isfinite(each[key])]
        line = tuple(zip(*points, strict=True)) if points else ((), ())
        axis.plot(*line, style, color=color, label=key, markersize=2.5, linewidth=1)
    for each in rows:
        if each["is_default"]:
            axis.axvline(each["value"], color="0.6", linewidth=1, linestyle=":")
    if min(xs) > 0 and max(xs) / min(xs) > 30:
        axis.set_xscale("log")
        axis.minorticks_off()
    axis.set_ylim(-0.05, 1.05)
    axis.set_title(title, fontsize=7)
    axis.tick_params(labelsize=6)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
