"""The figures of the searches as tables and as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.report_page import Sheet, key_figures, page_head
from benchmarks.tuning.figures import WORDS, Cell, Figure, over
from benchmarks.tuning.pool_part import Part
from benchmarks.tuning.run_searches import OTHER, Search

SHARES = ("top10hr", "ceiling", "top10hr_last", "tsba", "sooner", "never", "lost", "short")
SHOWN = ("top10hr", "tsba", "tried", "finished", "lost", "short")
LIMITS = (("top10hr", "at least", 0.75), ("tsba", "at least", 0.45), ("lost", "at most", 0.02))
Figures = Mapping[Cell, Mapping[str, Figure]]

QUESTION = "How good the trials of a search are in a given time, with sickbay and with other rules."
PAGE = """\
Searches are played: they are simulated on recorded trials, with the time that these trials took. A
searcher chooses one of the remaining configurations. The configuration is "trained", epoch by
epoch, until the rule ends it or it is complete. Every search gets as much time as {trials} take
when trained to the end. There are {seeds} searches of each kind. The result of a trial is the best
of its epochs. The searcher learns the last value of a trial that was ended and the best value of
any other.

The pools were recorded before sickbay measured which units stay dead (`lasting_dead`). Played on
them, `dead_units` finds only layers whose units are all dead.

Rules:

- **plain** ends nothing.
- **median** is Optuna's MedianPruner with its defaults.
- **extrapolation** extrapolates the curve after a quarter, half and three quarters of the epochs,
  as Domhan et al. (2015) do. It ends a trial whose probability of beating the best so far is
  below 5 %.
- **bttackler** (the rules of the code published with BTTackler), **bttackler_paper** (those of its
  paper) and **tuning** are profiles of sickbay.

Searchers:

- **random** draws from the remaining trials of the pool.
- **TPE**, **GP** (both Optuna's) and **SMAC** choose among the remaining trials by what they have
  learnt so far. Asking them for any point and taking the nearest trial would not work: in so many
  dimensions, even the nearest one has little in common with that point. {missing}

Columns:

- **Top10HR** compares this search with a plain one of the same searcher with another seed. It is
  the share of the ten best trials of both that came from this search. 50 % is as good as plain.
  Every search is compared with {seeds} others. If two searches found the same trial of the pool,
  both count it, so even a search that tried the whole pool has less than 100 %. "At most" is what
  that search would have.
- **TSBA** is the share of its time that a search has left, on average, when it has reached the
  best value of a plain search. A search that never gets there counts as having used its whole
  time. A plain search finds its best before its time is over, so plain is not 0 either. **Sooner
  than plain** compares with the moment at which the plain search found its best.
- **good ones lost** counts only the trials of the best ten per cent that were tried. It is the
  share of them that were ended too early: as sick or hopeless, or as having no more to gain before
  they were that good. **More than 1 % short** is the share of them that were ended and would have
  improved by more than 1 %.

The ranges in brackets hold 95 % of the results for resampled seeds.

![Best so far]({plot})
"""


def sheets(figures: Figures, searches: Sequence[Search], parts: Mapping[str, Part]) -> list[Sheet]:
    """Return all tables."""
    tasks, searchers, rules = (tuple(dict.fromkeys(cell[n] for cell in figures)) for n in range(3))
    by_task = {(task, rule): mean_of(figures, task, None, rule) for task in tasks for rule in rules}
    by_searcher = {
        (searcher, rule): mean_of(figures, None, searcher, rule)
        for searcher in searchers
        for rule in rules
    }
    overall = {(rule,): mean_of(figures, None, None, rule) for rule in rules}
    note = "Means over all tasks and searchers."
    made = [must_hold(overall)] if ("tuning",) in overall else []
    more = (*SHOWN, "sooner", "ceiling", "top10hr_last", "never", "ended")
    made.append(sheet("Overall", note, ("rule",), overall, more))
    made.append(sheet("By task", "", ("task", "rule"), by_task, (*SHOWN, "best", "ten")))
    made.append(sheet("By searcher", "", ("searcher", "rule"), by_searcher, SHOWN))
    whole = (*SHOWN, "best", "ten")
    made.append(sheet("All combinations", "", ("task", "searcher", "rule"), figures, whole))
    made.append(reasons(searches, parts))
    return made


def mean_of(
    figures: Figures, task: str | None, searcher: str | None, rule: str
) -> Mapping[str, Figure]:
    wanted = (task, searcher, rule)
    chosen = [
        each
        for cell, each in figures.items()
        if all(want in (None, is_) for want, is_ in zip(wanted, cell, strict=True))
    ]
    return over(chosen)


def sheet(
    title: str,
    note: str,
    heads: Sequence[str],
    rows: Mapping[Any, Mapping[str, Figure]],
    names: Sequence[str],
) -> Sheet:
    lines = [[*key, *(shown(name, row[name]) for name in names)] for key, row in rows.items()]
    return Sheet(title, note, (*heads, *(WORDS[name] for name in names)), lines)


def shown(name: str, figure: Figure) -> str:
    values = (figure.value, figure.low, figure.high)
    if name in SHARES:
        value, low, high = (f"{100 * each:.1f}" for each in values)
        return f"{value} % ({low} to {high})"
    if name in ("best", "ten"):
        value, low, high = (f"{each:.4f}" for each in values)
        return f"{value} ({low} to {high})"
    return f"{figure.value:.1f} ({figure.low:.1f} to {figure.high:.1f})"


def must_hold(overall: Mapping[tuple[str], Mapping[str, Figure]]) -> Sheet:
    ours = overall["tuning",]
    rows = []
    for name, how, limit in LIMITS:
        value = ours[name].value
        holds = value >= limit if how == "at least" else value <= limit
        is_ = shown(name, ours[name])
        if (
            name == "tsba" and ("plain",) in overall
        ):  # a search that ends nothing is not at 0 either
            is_ += f", plain {shown(name, overall['plain',][name])}"
        rows.append([WORDS[name], is_, f"{how} {limit:.0%}", "holds" if holds else "FAILS"])
    for (rule,), theirs in overall.items():
        if rule not in ("plain", "tuning"):
            is_ = f"{ours['top10hr'].value:.1%} against {theirs['top10hr'].value:.1%}"
            holds = ours["top10hr"].value > theirs["top10hr"].value
            rows.append([f"Top10HR beside {rule}", is_, "above", "holds" if holds else "FAILS"])
    note = "For `tuning`, over all tasks and searchers."
    return Sheet("Limits", note, ("what", "is", "must be", ""), rows)


def reasons(searches: Iterable[Search], parts: Mapping[str, Part]) -> Sheet:
    """Return a table of what ended trials, how often, and after how many epochs."""
    ended: Counter[tuple[str, str, str]] = Counter()
    epochs: Counter[tuple[str, str, str]] = Counter()
    good: Counter[tuple[str, str, str]] = Counter()
    for search in searches:
        part = parts[search.task]
        for each in search.played:
            if each.why and search.seed < OTHER:
                key = (search.task, search.rule, each.why)
                ended[key] += 1
                epochs[key] += each.epochs
                good[key] += each.trial in part.good
    rows = [
        [*key, str(count), f"{epochs[key] / count:.1f}", str(good[key])]
        for key, count in sorted(ended.items())
    ]
    columns = ("task", "rule", "why", "ended", "after epochs, mean", "of the best ten per cent")
    return Sheet("Why trials ended", "In all searches together.", columns, rows)


def page(sheets: Sequence[Sheet], about: Mapping[str, Any]) -> str:
    """Return the tables as a page."""
    limits = [sheet for sheet in sheets if sheet.title == "Limits"]
    names = [WORDS[name] for name, _, _ in LIMITS]
    source = (
        "`{command}` (Optuna {optuna}, torch {torch}) on the {part} part of each pool: {counts}"
    )
    summary = key_figures(limits[0], names) if limits else []
    head = page_head("Tuning results", QUESTION, source.format(**about), summary)
    return "\n".join([head, PAGE.format(**about), *(sheet.markdown() for sheet in sheets)])


def as_rows(figures: Figures) -> list[dict[str, Any]]:
    """Return the figures as plain rows."""
    return [
        {"task": task, "searcher": searcher, "rule": rule}
        | {name: [each.value, each.low, each.high] for name, each in row.items()}
        for (task, searcher, rule), row in figures.items()
    ]
