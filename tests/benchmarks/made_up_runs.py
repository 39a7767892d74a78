"""Problems, charts and runs made up for the tests of the detection benchmark."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.detection.judge_runs import ReportedFinding, Run
from sickbay.chart import Chart, ChartWriter
from sickbay.findings import Finding, Severity
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.vitals import Setup, Vitals


@dataclass(frozen=True, kw_only=True)
class High(Problem):
    """Fires while the loss is above a limit, with evidence of the step before."""

    reads = ("step",)
    explains = ("low",)
    limit: float = 5.0

    def check(self, history: History) -> Finding | None:
        high = history.latest("loss") > self.limit
        return self.found(history, "high", step=history.step - 1) if high else None


@dataclass(frozen=True, kw_only=True)
class Low(Problem):
    """Fires when an epoch ends with a low score."""

    reads = ("epoch",)

    def check(self, history: History) -> Finding | None:
        return self.found(history, "low") if history.epochs("score")[-1:] == [0.0] else None


def chart(folder: Path, losses: Sequence[float], score: float | None = None) -> Chart:
    with closing(ChartWriter(folder, Setup())) as writer:
        for step, loss in enumerate(losses):
            writer.append(Vitals(step=step, scalars={"loss": loss}))
        if score is not None:
            writer.end_epoch(0, {"score": score})
    return Chart.open(folder)


def say(
    problem: str, step: int = 0, *consequences: str, severity: Severity = "warning"
) -> ReportedFinding:
    return ReportedFinding(
        problem=problem,
        severity=severity,
        step=step,
        epoch=0,
        shown=step,
        consequences=consequences,
    )


def run(problem: str, *said: ReportedFinding, seed: int = 1, **fields: Any) -> Run:
    name = f"{problem or 'healthy'}/{seed}-{len(said)}"
    known: dict[str, Any] = {"steps": 100, "epochs": 10, "score": 0.5, "said": {"default": said}}
    return Run(**{"name": name, "problem": problem, "seed": seed, **known, **fields})
