"""The tables of BTTackler's paper beside the figures of `run` and `live`, read from their JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from statistics import fmean
from typing import Any, TypeAlias

from benchmarks.report_page import Sheet, percent
from benchmarks.tuning.published_numbers import (
    BEST,
    HOURS,
    OVERHEAD,
    RIVALS,
    SEARCHERS,
    TASKS,
    TOP10HR,
    TRIED,
)

RULES = ("bttackler", "bttackler_paper", "tuning")


class Figures:
    """The figures of `run`, by task, searcher and rule."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self._rows = {(row["task"], row["searcher"], row["rule"]): row for row in told["figures"]}

    def value(self, task: str, searcher: str, rule: str, name: str) -> float:
        """Return a figure, NaN if that search was not run."""
        found = self._rows.get((task, searcher, rule), {}).get(name, [nan])[0]
        return nan if found is None else float(found)

    def mean(self, rule: str, name: str) -> float:
        """Return the mean of a figure over all tasks and searchers."""
        return fmean(self.value(task, each, rule, name) for task in TASKS for each in SEARCHERS)


Row: TypeAlias = Sequence[str]


def hit_ratios(figures: Figures) -> Sheet:
    """Return Table 2: Top10HR of the paper's two kinds of rules, and of sickbay's own."""

    def row(task: str, searcher: str) -> list[str]:
        ours = [figures.value(task, searcher, rule, "top10hr") for rule in RULES]
        rival = figures.value(task, searcher, RIVALS[task], "top10hr")
        theirs, other = TOP10HR[task][searcher]
        return [
            TASKS[task],
            searcher,
            f"{theirs} %",
            *map(percent, ours),
            f"{other} %",
            percent(rival),
        ]

    rows = [row(task, searcher) for task in TASKS for searcher in SEARCHERS]
    published = [
        [pair[place] for by in TOP10HR.values() for pair in by.values()] for place in (0, 1)
    ]
    means = [figures.mean(rule, "top10hr") for rule in RULES]
    rivals = fmean(figures.value(t, s, RIVALS[t], "top10hr") for t in TASKS for s in SEARCHERS)
    rows.append(["mean", "", f"{fmean(published[0]):.2f} %", *map(percent, means)])
    rows[-1] += [f"{fmean(published[1]):.2f} %", percent(rivals)]
    note = """
The rival is learning-curve extrapolation for the two classifiers and median stopping for
forecasting, as in the paper. 50 % is as good as no rule.""".lstrip()
    columns = ("task", "searcher", "published", *RULES, "rival, published", "rival, here")
    return Sheet("Table 2: Top10HR", note, columns, rows)


def best_values(figures: Figures) -> Sheet:
    """Return Table 2: the best values without and with BTTackler."""
    rows = []
    for task in TASKS:
        for searcher in SEARCHERS:
            row = [TASKS[task], searcher]
            for place, rule in enumerate(("plain", "bttackler", "bttackler_paper")):
                given = BEST[task][searcher][2 * place :][:2]
                row += [" / ".join(f"{each:.4f}" for each in given)] if given else []
                own = (figures.value(task, searcher, rule, name) for name in ("best", "ten"))
                row.append(" / ".join(f"{each:.4f}" for each in own))
            rows.append(row)
    note = """
Best value and mean of the ten best: accuracy, and for Ex96Trans the mean squared error. The levels
cannot be compared, because the data differ; the difference that BTTackler makes can.""".lstrip()
    columns = ("task", "searcher", "plain, published", "plain, here", "BTTackler, published")
    return Sheet("Table 2: best values", note, (*columns, "bttackler", "bttackler_paper"), rows)


def trials(figures: Figures) -> Sheet:
    """Return Table 3: how many more trials random search tries in the same time."""
    rows = []
    for task, (plain, rival, ours) in TRIED.items():
        base = figures.value(task, "random", "plain", "tried")
        row = [TASKS[task], f"{plain}", f"{base:.1f}", percent(ours / plain - 1)]
        more = [figures.value(task, "random", rule, "tried") / base - 1 for rule in RULES]
        row += [*map(percent, more), percent(rival / plain - 1)]
        rows.append(
            [*row, percent(figures.value(task, "random", RIVALS[task], "tried") / base - 1)]
        )
    note = "Trials of plain random search, and how many more a rule tries in the same time."
    columns = ("task", "plain, published", "plain, here", "BTTackler, published", *RULES)
    return Sheet("Table 3: trials", note, (*columns, "rival, published", "rival, here"), rows)


def savings(figures: Figures) -> Sheet:
    """Return Table 4: how much sooner SMAC is as good as plain SMAC at its best."""
    rows = []
    for task, (plain, ours) in HOURS.items():
        row = [TASKS[task], percent((plain - ours) / plain)]
        for name in ("sooner", "tsba"):
            rules = ("plain", *RULES) if name == "tsba" else RULES
            row += [percent(figures.value(task, "SMAC", rule, name)) for rule in rules]
        rows.append(row)
    note = """
The paper divides by the moment at which plain SMAC was at its best (4.64, 4.41 and 4.51 of 6
hours), like "sooner" here. By its Definition 3.4 the whole time counts, like "TSBA" here, where a
plain search is not at 0 either. A search that never gets as far counts with its whole time, so
"sooner" can be below 0.""".lstrip()
    columns = ["task", "published", *(f"sooner, {rule}" for rule in RULES)]
    columns += [f"TSBA, {rule}" for rule in ("plain", *RULES)]
    return Sheet("Table 4: time saved with SMAC", note, columns, rows)


def overhead(live: Mapping[str, Any]) -> Sheet:
    """Return what watching cost in real trials."""
    columns, *rows = live["tables"]["Live searches"]
    places = [columns.index(name) for name in ("task", "search", "tried", "finished", "seconds")]
    told: list[Row] = [
        [row[place] for place in places] + [row[columns.index("cost of watching")]]
        for row in rows
        if row[columns.index("search")] in ("bttackler", "bttackler_paper")
    ]
    note = f"""
The paper: less than {OVERHEAD:.0%} of the training time, with every batch measured and the rules in
threads of their own. Here statistics are read as often as a budget of 1 % of the time allows, and
judged in a thread. Trials of a few seconds pay for the start. {live["about"]["how"]}""".lstrip()
    return Sheet(
        "Overhead", note, ("task", "rule", "trials", "finished", "seconds", "watching"), told
    )


def live_claims(live: Mapping[str, Any]) -> Sheet:
    """Return which rule ended how many real trials, and how many the same rule ends in a replay."""
    columns, *rows = live["tables"]["Why trials ended"]
    told = [row for row in rows if row[columns.index("rule")].startswith("bttackler")]
    note = (
        "Ended live, and by a replay of the same trials, which were recorded in the plain search."
    )
    return Sheet("Table 5, live", note, columns, told)
