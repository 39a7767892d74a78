"""Train runs with the default doctor, as a user would, and compare with replays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from torch import nn
from torch.optim import Optimizer

from benchmarks.detection.judge_runs import ReportedFinding, Run
from benchmarks.detection.record_runs import cases_by_name, train_with_doctor
from benchmarks.detection.report import instead
from benchmarks.report_page import Sheet
from sickbay.doctor import Doctor, watch


def as_a_user(model: nn.Module, optimizer: Optimizer, _epochs: int) -> Doctor:
    return watch(model, optimizer, on_finding="silent")  # most users do not pass `epochs`


def live(data: Path | None, name: str) -> Run:
    """Train a case with the default doctor and return its findings."""
    case = cases_by_name(data)[name]
    watched, score = train_with_doctor(case, as_a_user)
    return Run.of(
        case,
        score=score,
        steps=watched.present().history.step + 1,
        epochs=watched.epochs,
        said={"default": watched.said},
        troubles=tuple(watched.troubles),
    )


def scored(live: Sequence[Run], replayed: Sequence[Run]) -> list[Run]:
    """Return live runs with the recorded scores of their twins."""
    twins = {run.name: run.twin_score for run in replayed}
    return [replace(run, twin_score=twins.get(run.name)) for run in live]


def compare(live: Sequence[Run], replayed: Sequence[Run]) -> Sheet:
    """Return the runs whose live findings differ from those of the replay."""
    before = {run.name: run for run in replayed}
    differing = [
        [run.name, instead(before[run.name], "default"), instead(run, "default")]
        for run in live
        if run.name in before and names(run) != names(before[run.name])
    ]
    both = sum(run.name in before for run in live)
    note = f"{len(differing)} of {both} runs differ. Shown: problems and their steps."
    columns = ("run", "replayed", "live")
    return Sheet("Live runs compared with replays", note, columns, differing)


def names(run: Run) -> set[str]:
    said: Sequence[ReportedFinding] = run.said.get("default", ())
    return {each.problem for each in said}
