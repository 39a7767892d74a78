"""Figures of the repair benchmark by problem and by remedy, and the limits they must meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean, median
from typing import Any

from benchmarks.detection.figures import AUTOTRAINER_EIGHT
from benchmarks.repair.repair_cases import PUBLISHED
from benchmarks.repair.repair_run import Record
from benchmarks.report_page import Sheet, key_figures, page_head

SICK = 0.6  # the mean gain covers runs with a plain score below this
WORSE = 0.01
LIMITS = (
    ("repaired, of those detected", "at least", 0.99),
    ("repaired, the worst problem", "at least", 0.95),
    ("mean gain where the plain score is below 0.6", "at least", 0.36),
    ("repaired but worse by more than 1 point", "at most", 0),
    ("extra epochs, median", "at most", 0.35),
    ("extra epochs, most", "at most", 1.5),
    ("healthy runs that were changed", "at most", 0),
)
BY_THE_PAPER = 0.9  # to repair, of the runs that one of the paper's rules stops
KEY_FIGURES = (
    "repaired, of those detected", "extra epochs, median", "healthy runs that were changed",
)  # fmt: skip
QUESTION = (
    "How many sick runs `sickbay.fit` repairs, at what cost, and how many healthy ones it changes."
)
PAGE = """\
A run counts as repaired if no problem is found any more and its score is within 2 points of that
of its healthy twin, the same run without the fault. AutoTrainer's own figures come from other
models, and a run counts as repaired there if its accuracy is above a target. Training uses a
quarter of the held-out samples (mostly 500) for its scores. The figures below come from the
others (mostly 1,500). Twins are scored after their last epoch.
"""


def sheets(records: Sequence[Record], strategies: Sequence[str]) -> list[Sheet]:
    """Return all tables."""
    sick = [each for each in records if each["problem"]]
    made = [by_problem(sick, strategy) for strategy in strategies]
    made += [by_remedy(sick, strategy) for strategy in strategies]
    made.append(must_hold(records, strategies[0]))
    if "autotrainer" in strategies:
        made.append(of_the_paper(sick))
    return made


def by_problem(sick: Sequence[Record], strategy: str) -> Sheet:
    columns = (
        "problem", "runs", "detected", "repaired", "AutoTrainer, published", "before", "after",
        "twin", "extra epochs", "maximum", "time factor",
    )  # fmt: skip
    rows = []
    for problem in (*AUTOTRAINER_EIGHT, ""):
        some = [each for each in sick if each["problem"] == problem or not problem]
        if not some:
            continue
        found = [each for each in some if each[strategy]["detected"]]
        if not found:
            rows.append([problem or "all", str(len(some)), "0", *["-"] * (len(columns) - 3)])
            continue
        done = [each for each in found if each[strategy]["repaired"]]
        worked, tried = PUBLISHED.get(problem, (498, 506))
        extra = [each[strategy]["extra"] for each in found]
        seconds = [each[strategy]["seconds"] / each["plain"]["seconds"] for each in found]
        rows.append(
            [
                problem or "all",
                str(len(some)),
                str(len(found)),
                f"{len(done)} ({len(done) / len(found):.1%})",
                f"{worked} of {tried} ({worked / tried:.1%})",
                f"{mean(each['plain']['score'] for each in found):.3f}",
                f"{mean(each[strategy]['score'] for each in found):.3f}",
                f"{mean(each['twin']['score'] for each in found):.3f}",
                f"{median(extra):.2f}",
                f"{max(extra):.2f}",
                f"{median(seconds):.2f}",
            ]
        )
    note = (
        "Scores are means over detected runs. "
        "Extra epochs are those beyond one training run, as a fraction of that run."
    )
    return Sheet(f"Repaired, strategy {strategy}", note, columns, rows)


def by_remedy(sick: Sequence[Record], strategy: str) -> Sheet:
    counts: dict[tuple[str, str], list[int]] = {}
    for each in sick:
        for remedy in each[strategy]["remedies"]:
            pair = counts.setdefault((each["problem"], remedy), [0, 0])
            pair[0] += each[strategy]["repaired"]
            pair[1] += 1
    rows = [
        [problem, remedy, str(n), str(k)] for (problem, remedy), (k, n) in sorted(counts.items())
    ]
    note = "The remedy of the attempt that produced the final model."
    return Sheet(
        f"Remedies that won, strategy {strategy}", note,
        ("problem", "remedy", "won", "repaired"), rows,
    )  # fmt: skip


def must_hold(records: Sequence[Record], strategy: str) -> Sheet:
    values = figures(records, strategy)
    rows = []
    for name, how, limit in LIMITS:
        if (value := values.get(name)) is None:
            continue
        holds = value >= limit if how == "at least" else value <= limit
        rows.append([name, f"{value:.3g}", f"{how} {limit:g}", "holds" if holds else "FAILS"])
    return Sheet(f"Limits, strategy {strategy}", "", ("what", "value", "limit", ""), rows)


def of_the_paper(sick: Sequence[Record]) -> Sheet:
    """Count repairs by what stopped the run, whatever fault was planted in it."""
    stopped = [each["autotrainer"] for each in sick if each["autotrainer"]["stopped"]]
    rows = []
    for problem in (*AUTOTRAINER_EIGHT, ""):
        some = [each for each in stopped if each["stopped"] == problem or not problem]
        done = sum(each["repaired"] for each in some)
        share = f"{done} ({done / len(some):.1%})" if some else "-"
        rows.append([problem or "all", str(len(some)), share])
    holds = bool(stopped) and mean(each["repaired"] for each in stopped) >= BY_THE_PAPER
    rows.append([f"at least {BY_THE_PAPER:.0%} of all", "", "holds" if holds else "FAILS"])
    note = "By the problem that the paper's rules found first, in all runs with a planted fault."
    return Sheet("Problems as the paper defines them", note, ("found", "runs", "repaired"), rows)


def figures(records: Sequence[Record], strategy: str) -> dict[str, float]:
    """Return the figures that have a limit."""
    sick = [each for each in records if each["problem"] and each[strategy]["detected"]]
    healthy = [each for each in records if not each["problem"]]
    values: dict[str, float] = {}
    if sick:
        by = {
            problem: [each[strategy]["repaired"] for each in sick if each["problem"] == problem]
            for problem in AUTOTRAINER_EIGHT
        }
        low = [each for each in sick if each["plain"]["score"] < SICK]
        extra = [each[strategy]["extra"] for each in sick]
        values = {
            "repaired, of those detected": mean(each[strategy]["repaired"] for each in sick),
            "repaired, the worst problem": min(mean(each) for each in by.values() if each),
            "repaired but worse by more than 1 point": sum(
                each[strategy]["score"] < each["plain"]["score"] - WORSE for each in sick
            ),
            "extra epochs, median": median(extra),
            "extra epochs, most": max(extra),
        }
        if low:
            gains = [each[strategy]["score"] - each["plain"]["score"] for each in low]
            values["mean gain where the plain score is below 0.6"] = mean(gains)
    if healthy:
        values["healthy runs that were changed"] = sum(
            each[strategy]["changed"] for each in healthy
        )
    return values


def page(sheets: Sequence[Sheet], about: Mapping[str, Any]) -> str:
    """Return the tables as a page."""
    limits = [sheet for sheet in sheets if sheet.title.startswith("Limits")]
    summary = key_figures(limits[0], KEY_FIGURES) if limits else []
    source = f"`{about['command']}` (torch {about['torch']})"
    head = page_head("Repair results", QUESTION, source, summary)
    return "\n".join([head, PAGE, *(sheet.markdown() for sheet in sheets)])
