"""Measure whether and when sickbay finds injected faults: `python -m benchmarks.injection`.

The benchmark trains a char-GPT of four layers with AdamW, a warm-up and a cosine schedule, and
watches it with the default settings. Faults in floating-point inputs use a small CNN on made-up
images. There is one clean run and one run with each fault of `sickbay.inject`, all from a fixed
seed and on one thread.

How to read the table:
    found: how many injections were followed by a right finding before the next injection.
    delay: the step of the finding minus the step of the fault. The highest is shown.
    reported: steps from the fault until the finding was reported. The highest is shown.
    norms: the fraction of steps at which the budget allowed reading the gradient norm. A fault that
        lasts one step and affects only gradients cannot be seen at other steps.
    other findings: findings of other problems, with their steps. In a clean run, and before the
        fault, they are false alarms.

With --double, two faults come at once. A pair counts as found if both faults are. `resolved` tells
whether the final loss is within a tenth of that of a run without faults: without help, with live
treatment, and with Training Doctor's first suggestion.

`training_doctor` is the profile of that paper. It gets the loss and the gradient norm of every
step. Its right names are those of its matching rules, and "-" marks faults without one.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.command_line import (
    check_file,
    new_parser,
    output_console,
    progress_bar,
    write_at_once,
)
from benchmarks.injection import double_faults
from benchmarks.injection.faulty_runs import CASES, QUICK, TEXT, ReportedFinding, Run, Size, train
from benchmarks.overhead.workloads import SEED
from sickbay.problems.profiles import PROFILES

Report = dict[str, Any]
OTHERS = ("training_doctor",)
RULES = {  # of training_doctor, by our name for it
    "gradient_spike": "large_gradient",
    "gradient_collapse": "small_gradient",
    "loss_spike": "loss_explosion",
}


def judge(run: Run, profile: str) -> Report:
    """Return how well a profile found the fault of a run."""
    right = set(run.case.expected)
    if profile in OTHERS:
        right = {RULES[name] for name in right if name in RULES}
    hits = [
        (said.finding.step - step, said.after - step)
        for step in run.acted
        if (said := hit(run, profile, right, step)) is not None
    ]
    others = [each for each in run.said[profile] if each.finding.problem not in right]
    early = [each for each in run.said[profile] if is_false(run, each)]
    return {
        "right_names": sorted(right),
        "put_in": len(run.acted),
        "found": len(hits),
        "delays": [delay for delay, _ in hits],
        "said_after": [after for _, after in hits],
        "other_findings": [brief(each) for each in others],
        "false_alarms_in_warmup": sum(each.finding.step < run.size.warmup for each in early),
        "false_alarms_later": sum(each.finding.step >= run.size.warmup for each in early),
        "findings": [finding_json(each) for each in run.said[profile]],
    }


def hit(run: Run, profile: str, right: set[str], step: int) -> ReportedFinding | None:
    """Return the first right finding between this injection and the next."""
    end = min([each for each in run.acted if each > step], default=run.size.steps)
    right_ones = (
        each
        for each in run.said[profile]
        if each.finding.problem in right and step <= each.finding.step < end
    )
    return next(right_ones, None)


def is_false(run: Run, said: ReportedFinding) -> bool:
    """Return whether a finding came before any fault."""
    return said.finding.step < min(run.acted, default=run.size.steps)


def brief(said: ReportedFinding) -> str:
    return f"{said.finding.problem}@{said.finding.step}"


def finding_json(said: ReportedFinding) -> Report:
    finding = said.finding
    return {
        "problem": finding.problem,
        "severity": finding.severity,
        "step": finding.step,
        "said_after_step": said.after,
        "layers": finding.layers,
        "message": finding.message,
        "consequences": finding.consequences,
    }


def describe(run: Run) -> Report:
    """Return the results of a run."""
    return {
        "workload": run.case.workload,
        "fault": str(run.case.at(run.size) or ""),
        "acted_at": run.acted,
        "loss": {"first": run.losses[0], "last": plain(run.losses[-1])},
        "seconds": run.seconds,
        "overhead": run.overhead,
        "norms_read": run.norms_read,
        "profiles": {profile: judge(run, profile) for profile in run.said},
    }


def plain(value: float) -> float | str:
    """Return a finite number, or NaN and infinity as text for JSON."""
    return value if isfinite(value) else str(value)


def summary(runs: dict[str, Report]) -> Report:
    """Return how many faults each profile found, how fast, and its false alarms."""
    totals: Report = {}
    for run in runs.values():
        for profile, judged in run["profiles"].items():
            total = totals.setdefault(profile, dict.fromkeys(TOTALS, 0))
            for name, count in TOTALS.items():
                total[name] += count(judged)
    return totals


TOTALS: dict[str, Callable[[Report], int]] = {
    "put_in": lambda judged: judged["put_in"] if judged["right_names"] else 0,
    "found": lambda judged: judged["found"],
    "at_the_very_step": lambda judged: judged["delays"].count(0),
    "said_at_once": lambda judged: judged["said_after"].count(0),
    "false_alarms_in_warmup": lambda judged: judged["false_alarms_in_warmup"],
    "false_alarms_later": lambda judged: judged["false_alarms_later"],
}


def show(report: Report, console: Console) -> None:
    """Print the table and the totals."""
    table = Table(title="Injected faults")
    for name in (
        "run",
        "fault",
        "profile",
        "found",
        "delay",
        "reported",
        "norms",
        "other findings",
    ):
        right = name in ("found", "delay", "reported", "norms")
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for name, run in report["runs"].items():
        for index, (profile, judged) in enumerate(run["profiles"].items()):
            head = ["", ""] if index else [name, run["fault"] or "none"]
            norms = "" if index else f"{run['norms_read']:.0%}"
            *numbers, others = cells(judged)
            table.add_row(*head, profile, *numbers, norms, others)
    console.print(table)
    for profile, total in report["summary"].items():
        console.print(
            f"{profile}: found {total['found']} of {total['put_in']}, "
            f"{total['at_the_very_step']} at the same step, "
            f"{total['said_at_once']} reported at once; "
            f"false alarms: {total['false_alarms_in_warmup']} in the warm-up, "
            f"{total['false_alarms_later']} later."
        )


def cells(judged: Report) -> list[str]:
    """Return the cells of the table for one profile in one run."""
    counts: dict[str, list[str]] = {}
    for each in judged["other_findings"]:
        name, _, step = each.partition("@")
        counts.setdefault(name, []).append(step)
    others = ", ".join(
        f"{name} at {steps[0]}" + (f" and {len(steps) - 1} more" if steps[1:] else "")
        for name, steps in counts.items()
    )
    if not judged["put_in"] or not judged["right_names"]:
        return ["-", "", "", others]
    colour = "green" if judged["found"] == judged["put_in"] else "red"
    found = f"[{colour}]{judged['found']}/{judged['put_in']}[/]"
    highest = [str(max(judged[name], default="")) for name in ("delays", "said_after")]
    return [found, *highest, others]


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], Callable[[], object]]]:
    """Show the progress of all steps on stderr."""
    with progress_bar(Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)

        def begin(name: str) -> Callable[[], object]:
            bar.update(task, description=name)
            return lambda: bar.advance(task)

        yield begin


def measure(given: argparse.Namespace, report: Report) -> None:
    """Run the selected cases. The report stays complete if this is interrupted."""
    size = QUICK if given.quick else Size()
    cases = {given.only: CASES[given.only]} if given.only else CASES
    others = [(name, PROFILES[name]) for name in OTHERS if name in PROFILES]
    with progress(len(cases) * size.steps) as begin:
        for name, case in cases.items():
            run = train(case, size, given.text, given.every or "auto", others, begin(name))
            report["runs"][name] = describe(run)
            report["summary"] = summary(report["runs"])


def double(given: argparse.Namespace, report: Report, console: Console) -> int:
    """Run the pairs of faults."""
    size = QUICK if given.quick else Size()
    with progress((3 * len(double_faults.PAIRS) + 1) * size.steps) as begin:
        report |= double_faults.measure(size, given.text, given.every or "auto", begin)
    double_faults.sheet(report).show(console)
    if given.json is not None:
        write_at_once(given.json, json.dumps(report, indent=2) + "\n")
    return 0


def arguments(args: Sequence[str] | None) -> argparse.Namespace:
    parser = new_parser("injection", __doc__)
    parser.add_argument("--data", metavar="DIR", type=Path, help="folder with tinyshakespeare.txt")
    parser.add_argument("--quick", action="store_true", help="fewer steps and a smaller model")
    parser.add_argument("--only", metavar="NAME", choices=CASES, help=", ".join(CASES))
    parser.add_argument("--double", action="store_true", help="two faults at once instead of one")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the results to FILE")
    parser.add_argument(
        "--every", metavar="N", type=int, help="read every N steps (default: as the budget allows)"
    )
    given = parser.parse_args(args)
    if given.every is not None and given.every < 1:
        parser.error(f"--every must be at least 1, got {given.every}.")
    check_file(parser, "json", given.json)
    path = TEXT if given.data is None else given.data / "tinyshakespeare.txt"
    if not path.is_file():
        parser.error(f"--data must be a folder with tinyshakespeare.txt, got '{given.data}'.")
    given.text = path.read_text(encoding="utf-8")
    return given


def main(args: Sequence[str] | None = None) -> int:
    given = arguments(args)
    console = output_console()
    torch.set_num_threads(1)
    about: Report = {"python": platform.python_version(), "torch": torch.__version__, "seed": SEED}
    text = "tinyshakespeare" if given.data else "examples/text.txt"
    about.update(quick=given.quick, text=text, every=given.every or "auto")
    report: Report = {"about": about, "runs": {}, "summary": {}}
    if given.double:
        return double(given, {"about": about}, console)
    code = 0
    try:
        measure(given, report)
    except KeyboardInterrupt:
        console.print("Interrupted. These are the results so far.")
        code = 130
    show(report, console)
    if given.json is not None:
        write_at_once(given.json, json.dumps(report, indent=2) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
