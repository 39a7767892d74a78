"""Figures of the detection benchmark as tables, as a page and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape

from benchmarks.detection.figures import Row, profile_names
from benchmarks.detection.judge_runs import Run, accepted
from benchmarks.report_page import Sheet, key_figures, machine, number, page_head, percent, plain

HALVES = ("reporting", "calibration")
QUESTION = (
    "Which injected faults sickbay finds, how fast, and how often it warns about a healthy run."
)
PAGE = """\
Every run has at most one injected fault. A sick run counts only if it scores worse than its twin,
the same run without the fault. Thresholds were set on the calibration half (even seeds), and
results are reported on the other half. A finding is right if its problem, or a consequence that
it names, is a correct name for the fault; `benchmarks/detection/judge_runs.py` lists these names.

`--list` names every run. `--only NAME --fresh` trains one again and prints all its findings.
`--sweep` draws precision and recall against every threshold. `--every 1,2,5` shows delay and cost
for readings at every, every second and every fifth step.
"""
KEY_FIGURES = (
    "recall on AutoTrainer's eight", "healthy runs with a warning", "findings per sick run",
)  # fmt: skip
MOST = 60  # lines of a list shown on the terminal


def sheets(figures: Row, half: str, profile: str) -> list[Sheet]:
    """Return the tables of one half of the runs."""
    return [
        own_sheet(figures, half, profile),
        beside_sheet(figures, half),
        said_sheet(figures, half, profile),
        healthy_sheet(figures, half),
    ]


def own_sheet(figures: Row, half: str, profile: str) -> Sheet:
    columns = ("problem", "runs", "recall", "precision", "delay", "90 %", "most", "epochs", "90 %")
    keys = ("delay_median", "delay_90", "delay_most", "epochs_median", "epochs_90")
    rows = [
        [row["problem"], str(row["runs"]), percent(row["recall"]), percent(row["precision"])]
        + [number(row[key]) for key in (*keys, "findings", "wrong")]
        for row in figures["problems"]
        if row["profile"] == profile
    ]
    note = (
        "Delay: steps and epochs from the first possible evidence to the right finding, as median, "
        "90th percentile and maximum. Findings and wrong findings: mean per run."
    )
    return Sheet(f"Profile {profile}, {half} half", note, (*columns, "findings", "wrong"), rows)


def beside_sheet(figures: Row, half: str) -> Sheet:
    rows = {(row["problem"], row["profile"]): row for row in figures["problems"]}
    profiles = [row["profile"] for row in figures["healthy"]]
    labels = dict.fromkeys(row["problem"] for row in figures["problems"])
    note = "Recall / precision / median delay in steps. Empty where a profile lacks the problem."
    lines = [[label, *(brief(rows.get((label, each))) for each in profiles)] for label in labels]
    return Sheet(f"Profiles compared, {half} half", note, ("problem", *profiles), lines)


def brief(row: Row | None) -> str:
    if row is None:
        return ""
    return f"{percent(row['recall'])} / {percent(row['precision'])} / {number(row['delay_median'])}"


def said_sheet(figures: Row, half: str, profile: str) -> Sheet:
    rows = [
        [row["problem"], str(row["runs"]), str(row["right"]), counted(row["wrong"])]
        for row in figures["said"]
        if row["profile"] == profile
    ]
    note = "In how many runs each problem was reported, rightly and wrongly."
    columns = ("problem", "reported", "right", "wrong on")
    return Sheet(f"Findings of {profile}, {half} half", note, columns, rows)


def healthy_sheet(figures: Row, half: str) -> Sheet:
    rows = [
        [
            *(str(row[key]) for key in ("profile", "runs", "alarmed", "any")),
            counted(row["problems"]),
        ]
        for row in figures["healthy"]
    ]
    columns = ("profile", "runs", "with a warning or worse", "with any finding", "problems")
    return Sheet(
        f"Healthy runs, {half} half", "Every finding here is a false alarm.", columns, rows
    )


def must_sheet(checks: Sequence[Row]) -> Sheet:
    words = {True: "holds", False: "FAILS", None: "not measured"}
    rows = [
        [row["what"], number(row["value"], 4), row["rule"], words[row["holds"]]] for row in checks
    ]
    note = (
        "The default profile on the reporting half. "
        "The smoke cases (seven runs of a small network) run as a user would run them."
    )
    return Sheet("Limits", note, ("what", "value", "limit", ""), rows)


def lists(runs: Sequence[Run], profile: str) -> list[tuple[str, list[str]]]:
    """Return lists of missed runs, false alarms, runs that do not count, and internal errors."""
    counting = [run for run in runs if run.counts]
    known = profile_names()[profile]
    missed = [
        run
        for run in counting
        if run.answer(profile) is None and not accepted(run.problem, profile).isdisjoint(known)
    ]
    alarmed = [run for run in counting if not run.problem and run.said.get(profile)]
    uncounted = [run for run in runs if not run.counts]
    return [
        (
            "missed faults, and the findings instead",
            [f"{run.name}: {instead(run, profile)}" for run in missed],
        ),
        ("healthy runs with findings", [f"{run.name}: {instead(run, profile)}" for run in alarmed]),
        ("not counted: score, score of the twin", [scores(run) for run in uncounted]),
        ("internal errors", [f"{run.name}: {text}" for run in runs for text in run.troubles]),
    ]


def instead(run: Run, profile: str) -> str:
    said = run.said.get(profile, ())
    return ", ".join(f"{each.problem} ({each.step})" for each in said) or "nothing"


def scores(run: Run) -> str:
    twin = "none" if run.twin_score is None else f"{run.twin_score:.3f}"
    return f"{run.name}: {run.score:.3f}, {twin}"


def show_lists(runs: Sequence[Run], profile: str, console: Console) -> None:
    for title, lines in lists(runs, profile):
        if lines:
            more = [f"... and {len(lines) - MOST} more (--json has all)"] * (len(lines) > MOST)
            console.print(f"\n[bold]{title}[/] ({len(lines)})")
            for line in [*lines[:MOST], *more]:
                console.print("  " + escape(line), highlight=False, soft_wrap=True)


def show_in_full(runs: Sequence[Run], console: Console) -> None:
    """Print all findings of each run."""
    for run in runs:
        sick = run.problem or "healthy"
        note = "" if run.counts else ", not counted"
        console.print(f"\n[bold]{escape(scores(run))}[/] ({sick}{note}; evidence from {run.first})")
        for profile, said in run.said.items():
            console.print(f"  {profile}: {'' if said else 'nothing'}", highlight=False)
            for each in said:
                mark = "✓" if run.is_right(each, profile) else "✗"
                console.print(f"    {mark} {escape(str(each))}", highlight=False, soft_wrap=True)
        for text in run.troubles:
            console.print(f"  [red]internal error[/] {escape(text)}", soft_wrap=True)


def as_json(figures: Mapping[str, Any], runs: Sequence[Run]) -> Any:
    """Return everything as plain JSON, each run with its findings."""
    return plain({**figures, "runs": [{**asdict(run), "counts": run.counts} for run in runs]})


def page(
    halves: Mapping[str, Row], checks: Sequence[Row], profile: str, command: str, runs: int
) -> str:
    """Return the tables as a page of documentation."""
    made = ", ".join(f"{name} {version}" for name, version in machine().items())
    limits = must_sheet(checks)
    source = f"`{command}` ({made}) from {runs} runs"
    head = page_head("Detection", QUESTION, source, key_figures(limits, KEY_FIGURES))
    parts = [head, PAGE, limits.markdown()]
    for half in HALVES:
        parts += [sheet.markdown() for sheet in sheets(halves[half], half, profile)]
        left_out = ", ".join(halves[half]["not_really_sick"]) or "none"
        parts.append(f"Not counted, because they score about as well as their twins: {left_out}.\n")
    return "\n".join(parts)


def counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
