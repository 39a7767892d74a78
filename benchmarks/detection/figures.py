"""Compute the figures of the benchmark from judged runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, nan
from statistics import mean, median
from typing import Any

from benchmarks.detection.judge_runs import Run, accepted
from sickbay.problems.profiles import PROFILES

Row = dict[str, Any]
Names = Mapping[str, Sequence[str]]  # the problems of each profile

AUTOTRAINER_EIGHT = (
    "vanishing_gradient", "exploding_gradient", "dying_relu", "oscillating_accuracy",
    "slow_convergence", "improper_output", "improper_loss", "abnormal_data",
)  # fmt: skip
# Faults of gradients, activations, data, outputs and losses, which are visible at once.
AT_ONCE = (
    "vanishing_gradient", "exploding_gradient", "dying_relu", "dead_units", "saturated_activation",
    "improper_output", "improper_loss", "abnormal_data", "unnormalised_input", "bad_targets",
    "double_activation", "shape_broadcast", "non_finite", "loss_spike", "gradient_spike",
    "gradient_collapse",
)  # fmt: skip
RECALL_OF_EIGHT, RECALL, HEALTHY, FINDINGS, DELAY = 0.98, 0.9, 1 / 200, 1.2, 20


def profile_names() -> dict[str, list[str]]:
    """Return the names of the problems of each profile."""
    return {name: [each.name() for each in problems] for name, problems in PROFILES.items()}


def labels_of(runs: Iterable[Run]) -> list[str]:
    """Return the faults that occur: AutoTrainer's eight, then the others by name."""
    present = {run.problem for run in runs if run.problem}
    return [name for name in AUTOTRAINER_EIGHT if name in present] + sorted(
        present.difference(AUTOTRAINER_EIGHT)
    )


def figures(runs: Sequence[Run], names: Names) -> Row:
    """Return all figures of these runs."""
    counted = [run for run in runs if run.counts]
    return {
        "problems": [
            problem_row(label, profile, counted)
            for label in labels_of(counted)
            for profile in names
            if not accepted(label, profile).isdisjoint(names[profile])
        ],
        "said": [said_row(name, profile, counted) for profile in names for name in names[profile]],
        "healthy": [healthy_row(profile, counted) for profile in names],
        "not_really_sick": sorted(run.name for run in runs if not run.counts),
    }


def problem_row(label: str, profile: str, runs: Sequence[Run]) -> Row:
    """Return how well a profile finds one fault."""
    mine = [run for run in runs if run.problem == label]
    answers = [(run, step) for run in mine if (step := run.answer(profile)) is not None]
    delays = [step - run.first for run, step in answers]
    epochs = [
        delay * run.epochs / run.steps if run.steps else nan
        for delay, (run, _) in zip(delays, answers, strict=True)
    ]
    reported = [(run, run.said.get(profile, ())) for run in mine]
    wrong = [sum(not run.is_right(each, profile) for each in said) for run, said in reported]
    return {
        "problem": label,
        "profile": profile,
        "runs": len(mine),
        "recall": share(len(answers), len(mine)),
        "precision": precision(accepted(label, profile), profile, runs),
        "delay_median": median(delays) if delays else nan,
        "delay_90": quantile(delays, 0.9),
        "delay_most": max(delays, default=nan),
        "epochs_median": median(epochs) if epochs else nan,
        "epochs_90": quantile(epochs, 0.9),
        "findings": average(len(said) for _, said in reported),
        "wrong": average(wrong),
        "missed": sorted({run.name for run in mine} - {run.name for run, _ in answers}),
    }


def precision(names: frozenset[str], profile: str, runs: Sequence[Run]) -> float:
    """Return the fraction of runs with a right finding, among runs with one of these findings."""
    right = []
    for run in runs:
        said = [each for each in run.said.get(profile, ()) if each.problem in names]
        if said:
            right.append(any(run.is_right(each, profile) for each in said))
    return share(sum(right), len(right))


def said_row(name: str, profile: str, runs: Sequence[Run]) -> Row:
    """Return in how many runs a problem was reported, rightly and wrongly."""
    right, wrong = 0, Counter[str]()
    for run in runs:
        said = [each for each in run.said.get(profile, ()) if each.problem == name]
        if any(run.is_right(each, profile) for each in said):
            right += 1
        elif said:
            wrong[run.problem or "healthy"] += 1
    total = right + wrong.total()
    return {
        "problem": name,
        "profile": profile,
        "runs": total,
        "right": right,
        "precision": share(right, total),
        "wrong": dict(wrong.most_common()),
    }


def healthy_row(profile: str, runs: Sequence[Run]) -> Row:
    """Return how often a profile reports a problem in a healthy run."""
    healthy = [run for run in runs if not run.problem]
    alarmed = [run for run in healthy if any(each.alarms for each in run.said.get(profile, ()))]
    reported = [run for run in healthy if run.said.get(profile)]
    problems = Counter(name for run in reported for name in {s.problem for s in run.said[profile]})
    return {
        "profile": profile,
        "runs": len(healthy),
        "alarmed": len(alarmed),
        "any": len(reported),
        "problems": dict(problems.most_common()),
        "names": [run.name for run in alarmed],
    }


def must_hold(runs: Sequence[Run], smoke: Sequence[Run], names: Names) -> list[Row]:
    """Compare the default profile with its limits. `holds` is None if it was not measured."""
    counted = [run for run in runs if run.counts]
    rows = {label: problem_row(label, "default", counted) for label in labels_of(counted)}
    others = sorted(set(names["default"]).difference(AUTOTRAINER_EIGHT))
    sick, calm = [run for run in counted if run.problem], healthy_row("default", counted)
    eight = [run for run in sick if run.problem in AUTOTRAINER_EIGHT]
    found = [run for run in eight if run.answer() is not None]
    checks = [
        check("recall on AutoTrainer's eight", share(len(found), len(eight)), RECALL_OF_EIGHT),
        *(check(f"recall on {label}", value(rows, label, "recall"), RECALL) for label in others),
        check("healthy runs with a warning", share(calm["alarmed"], calm["runs"]), -HEALTHY),
        check(
            "findings per sick run", average(len(run.said["default"]) for run in sick), -FINDINGS
        ),
        *(
            check(f"90 % of delays, {label}", value(rows, label, "delay_90"), -DELAY)
            for label in AT_ONCE
            if label in names["default"] or label in rows
        ),
    ]
    return checks + [check(f"{run.name} is right", float(smoke_right(run)), 1) for run in smoke]


def smoke_right(run: Run) -> bool:
    """Return whether a smoke case has exactly its one finding, or none if it is healthy."""
    said = run.said["default"]
    return len(said) == bool(run.problem) and all(map(run.is_right, said))


def check(what: str, value: float, limit: float) -> Row:
    """Compare a figure with its limit: a minimum, or a maximum if the limit is negative."""
    most = limit < 0
    holds = None if value != value else (value <= -limit if most else value >= limit)
    rule = f"{'at most' if most else 'at least'} {abs(limit):g}"
    return {"what": what, "value": value, "rule": rule, "holds": holds}


def value(rows: Mapping[str, Row], label: str, key: str) -> float:
    return float(rows[label][key]) if label in rows else nan


def share(part: int, whole: int) -> float:
    return part / whole if whole else nan


def average(values: Iterable[float]) -> float:
    listed = list(values)
    return mean(listed) if listed else nan


def quantile(values: Sequence[float], part: float) -> float:
    """Return the smallest value that at least this fraction of the values does not exceed.

    >>> quantile([5, 1, 2, 3, 4], 0.9), quantile([5, 1, 2, 3, 4], 0.8)
    (5, 4)
    """
    return sorted(values)[ceil(part * len(values)) - 1] if values else nan
