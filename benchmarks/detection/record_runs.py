"""Train a run once and record it as a chart, to judge it many times."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from benchmarks.detection.case import Case, Watch
from benchmarks.detection.judge_runs import ReportedFinding, attach
from sickbay.doctor.causes import Causes
from sickbay.doctor.doctor import Doctor
from sickbay.doctor.governor import Governor
from sickbay.doctor.run_log import RunLog
from sickbay.doctor.watch_arguments import Watched, check_optimizers
from sickbay.history import History
from sickbay.json_dataclasses import to_json
from sickbay.model_arguments import check_model
from sickbay.vitals import Kind, Setup

RESULT = "result.json"
DENSE, SPARSE = 20, 10  # reads every step below DENSE, then every SPARSE steps
READ: tuple[Kind, ...] = ("gradient", "weight", "batch", "activation")
CONSEQUENCE = re.compile(
    r"step \d+  (.+?)  .*\(a consequence of (.+)\)$"
)  # text of a consequence event
Call = Callable[[nn.Module, Optimizer, int], Doctor]
Result = dict[str, Any]


class Dense(Governor):
    """Reads everything at every step at first, and often later, at any cost."""

    def __init__(self) -> None:
        super().__init__(every=1, budget=1.0, kinds=READ)

    def due(self, step: int) -> set[Kind]:
        return set(self.kinds) if step < DENSE or step % SPARSE == 0 else set()


class DoctorWatch(Watch):
    """Passes everything to a doctor, which is created when the run begins."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.doctor: Doctor | None = None
        self.epochs = 0
        self.said: list[ReportedFinding] = []

    def begin(self, model: nn.Module, optimizer: Optimizer, epochs: int) -> None:
        self.doctor, self.epochs = self._call(model, optimizer, epochs), epochs

    def step(
        self,
        loss: Tensor,
        *,
        outputs: Tensor | None = None,
        targets: Tensor | None = None,
        **metrics: float,
    ) -> None:
        doctor = self.present()
        self._note(doctor.step(loss, outputs=outputs, targets=targets, **metrics))

    def epoch(self, **metrics: float) -> None:
        self._note(self.present().epoch(**metrics))

    def present(self) -> Doctor:
        if self.doctor is None:
            raise RuntimeError("A run must call begin() before its first step.")
        return self.doctor

    def close(self) -> None:
        """Close the doctor, and add consequences that came later than their causes."""
        self.present().close()
        for event in self.present().events:
            if event.kind == "consequence" and (match := CONSEQUENCE.match(event.text)):
                consequence, cause = (each.replace(" ", "_") for each in match.groups())
                attach(self.said, consequence, event.step, cause)

    @property
    def troubles(self) -> list[str]:
        """Internal errors."""
        return [event.text for event in self.present().events if event.kind == "trouble"]

    def _note(self, new: list[Any]) -> None:
        if new:
            history = self.present().history
            self.said += [
                ReportedFinding.of(finding, history.step, history.epoch) for finding in new
            ]


def train_with_doctor(case: Case, call: Call) -> tuple[DoctorWatch, float]:
    """Train a case with a doctor. Return the watch and the score."""
    watch = DoctorWatch(call)
    try:
        return watch, case.train(watch)
    finally:
        if watch.doctor is not None:
            watch.close()


@cache
def cases_by_name(data: Path | None) -> Mapping[str, Case]:
    """Return every case by its name."""
    from benchmarks.detection.all_runs import cases
    from benchmarks.detection.smoke_runs import smoke

    return {case.name: case for case in (*cases(data), *smoke())}


def record(data: Path | None, runs: Path, name: str) -> Result:
    """Train a case and its twin, and record the run under its name."""
    case = cases_by_name(data)[name]
    draft = drafts(runs, os.getppid()) / f"{name.replace('/', '_')}-{os.getpid()}"
    wall, cpu = perf_counter(), process_time()
    watch, score = train_with_doctor(case, partial(chart_doctor, draft))
    result: Result = {
        **to_json({"score": score}),
        "twin_score": None,
        "steps": watch.present().history.step + 1,
        "epochs": watch.epochs,
        "seconds": perf_counter() - wall,
        "cpu_seconds": process_time() - cpu,
        "troubles": watch.troubles,
        "plan": plan_of(case),
    }
    if case.twin is not None:
        result |= to_json({"twin_score": case.twin(Watch())})
    (draft / RESULT).write_text(json.dumps(result, indent=2) + "\n")
    shutil.rmtree(runs / name, ignore_errors=True)
    (runs / name).parent.mkdir(parents=True, exist_ok=True)
    draft.rename(runs / name)
    return result


def drafts(runs: Path, process: int) -> Path:
    """Return the folder for unfinished recordings of the workers of a process."""
    return runs / ".drafts" / str(process)


def chart_doctor(folder: Path, model: nn.Module, optimizer: Optimizer, epochs: int) -> Doctor:
    """Return a doctor that reads often, prints nothing and records everything."""
    check_model(model, trainable=True)
    history = History(Setup(epochs=epochs))
    log = RunLog(history, [], "silent", folder)
    optimizers = check_optimizers(optimizer, model)
    watched = Watched(model, optimizers, Dense(), [], history, log)
    return Doctor(watched, Causes([], log.guard))


def result_of(runs: Path, name: str) -> Result | None:
    """Return the result of a recorded run, or None if it is not recorded."""
    with suppress(OSError, ValueError, KeyError):
        result: Result = json.loads((runs / name / RESULT).read_text())
        scores = {key: result[key] for key in ("score", "twin_score") if result[key] is not None}
        return result | {name: float(score) for name, score in scores.items()}
    return None


def plan_of(case: Case) -> str:
    """Return the plan of a case as text that is the same in every process."""
    text = re.sub(r" at 0x[0-9a-f]+|PosixPath\('[^']*'\)", "", repr((case.train, case.twin)))
    return re.sub(r"(?<=frozenset\(\{)[^}]*", lambda m: ", ".join(sorted(m[0].split(", "))), text)
