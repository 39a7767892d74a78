"""Run one program: sick, fixed, repaired, and watched by other tools."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

import sickbay
from benchmarks.overhead.watchers import muted
from benchmarks.programs import real_data
from benchmarks.programs.all_programs import every
from benchmarks.programs.program import Program, Watching
from benchmarks.programs.rivals import RIVALS, Rival
from benchmarks.report_page import plain
from sickbay.doctor import Doctor

Record = dict[str, Any]
CHECKED_SEEDS = 3
KEPT = ("problem", "severity", "step", "message", "consequences")  # of a finding


@dataclass(frozen=True)
class Task:
    """What to do with a program."""

    seed: int = 0
    folder: Path | None = None
    repair: bool = True
    rivals: bool = False
    check: bool = False

    def __call__(self, name: str) -> Record:
        """Return the record of a program, with None in place of NaN."""
        real_data.use(self.folder)
        program = every()[name]
        with tempfile.TemporaryDirectory() as home:
            os.environ["SICKBAY_HOME"] = home  # so that no repair learns from another
            record = compared(program) if self.check else run(program, self)
        made: Record = plain(record)
        return made


class Unwatched:
    """A doctor that does nothing."""

    def step(self, loss: torch.Tensor) -> None:
        """Do nothing."""

    def epoch(self, **metrics: float) -> None:
        """Do nothing."""


def run(program: Program, task: Task) -> Record:
    """Return everything that is measured on a program."""
    seed = task.seed
    record: Record = {
        "name": program.name,
        "half": program.half,
        "kind": program.kind,
        "source": program.source,
        "seed": seed,
        "repairable": program.repairable,
        "faults": [asdict(each) for each in program.faults],
        "sick": watched(program, False, seed),
        "fixed": watched(program, True, seed),
        "constant": program.parts(False, seed).constant if program.parts else None,
        "repair": repaired(program, seed) if task.repair and program.parts else None,
    }
    if task.rivals:
        installed = {name: make for name, make in RIVALS.items() if make.installed()}
        record["rivals"] = {
            name: {
                "sick": asked(program, False, seed, make),
                "fixed": asked(program, True, seed, make),
            }
            for name, make in installed.items()
        }
    return record


def watched(program: Program, fixed: bool, seed: int) -> Record:
    """Run a program with sickbay as it comes, and return its score and the findings."""
    doctors: list[Doctor] = []

    def watch(model: Any, optimizer: Any) -> Doctor:
        doctors.append(sickbay.watch(model, optimizer, on_finding="silent"))
        return doctors[-1]

    start = perf_counter()
    try:
        score = program.main(watch, fixed, seed)
    except sickbay.UsageError as error:  # it will not watch this, and says why
        refusal = {"problem": "refused", "severity": "critical", "step": 0, "message": str(error)}
        score = program.main(lambda *_: Unwatched(), fixed, seed)
        return {"score": score, "seconds": 0.0, "findings": [refusal], "trouble": []}
    seconds = perf_counter() - start
    for doctor in doctors:
        doctor.close()
    findings = [finding for doctor in doctors for finding in doctor.findings]
    return {
        "score": score,
        "seconds": seconds,
        "findings": [{name: getattr(each, name) for name in KEPT} for each in findings],
        "trouble": [
            event.text for doctor in doctors for event in doctor.events if event.kind == "trouble"
        ],
    }


def repaired(program: Program, seed: int) -> Record:
    """Train a sick program with `sickbay.fit`, and return what came out."""
    assert program.parts is not None
    parts = program.parts(False, seed)
    start = perf_counter()
    try:
        outcome = sickbay.fit(**parts.for_fit(), seed=seed, progress=False)
    except sickbay.SickbayError as error:
        return {"error": f"{type(error).__name__}: {error}", "solved": False, "score": None}
    return {
        "solved": outcome.solved,
        "score": parts.score(outcome.model),
        "found": list(dict.fromkeys(each.problem for each in outcome.findings)),
        "attempts": [str(each) for each in outcome.attempts],
        "diff": outcome.diff,
        "verdict": outcome.summary().splitlines()[0],
        "epochs": outcome.epochs / parts.epochs,
        "seconds": perf_counter() - start,
    }


def asked(program: Program, fixed: bool, seed: int, make: Callable[..., Rival]) -> list[list[str]]:
    """Return what another tool says about a program: for each finding, our names for it."""
    tools: list[Rival] = []

    def watch(model: Any, optimizer: Any) -> Watching:
        tools.append(make(model, optimizer))
        return tools[-1]

    with muted():
        program.main(watch, fixed, seed)
        return [names for tool in tools for names in tool.said()]


def compared(program: Program) -> Record:
    """Return the scores of the sick and the fixed program for several seeds, unwatched."""
    start = perf_counter()
    scores = {
        form: [program.main(lambda *_: Unwatched(), fixed, seed) for seed in range(CHECKED_SEEDS)]
        for form, fixed in (("sick", False), ("fixed", True))
    }
    seconds = (perf_counter() - start) / 2 / CHECKED_SEEDS
    return {"name": program.name, "mild": program.mild, "seconds": seconds, **scores}
