"""A sick network: trained as it is, then found, repaired and retrained."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from sickbay.demo.patients import PATIENTS
from sickbay.errors import unknown
from sickbay.repairs import Outcome, repair
from sickbay.repairs.data import Data
from sickbay.repairs.training import Terms, Training


@dataclass(frozen=True)
class Result:
    """What a demo ended with."""

    problem: str
    before: float
    outcome: Outcome
    chart: Path

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "problem": self.problem,
            "found": list(dict.fromkeys(each.problem for each in self.outcome.findings)),
            "solved": self.outcome.solved,
            "accuracy_before": self.before,
            "accuracy_after": self.outcome.score,
            "epochs": self.outcome.epochs,
            "diff": self.outcome.diff.splitlines(),
            "attempts": [each.as_json() for each in self.outcome.attempts],
            "chart": str(self.chart),
        }


def run(
    problem: str,
    epochs: int,
    chart: str | os.PathLike[str],
    console: Console | None = None,
    progress: bool = True,
) -> Result:
    """Let a sick network be repaired, and train it as it is; everything from fixed seeds."""
    if problem not in PATIENTS:
        raise unknown("demo", problem, PATIENTS)
    torch.set_num_threads(1)  # such small matrices are multiplied fastest by one
    recipe, data, validation = PATIENTS[problem].make()
    recipe = replace(recipe, epochs=epochs)
    outcome = repair(
        recipe,
        data,
        validation=validation,
        chart=chart,
        console=console,
        progress=progress,
        learn=False,  # a demo says nothing about the user's models
    )
    plain = Training(
        recipe,
        Data.of(data, validation, batch_size=recipe.batch_size),
        Terms(problems=(), treatable=(), epochs=epochs),
    )
    before = plain.advance(epochs).scores[-1]["val_accuracy"]
    plain.close()
    return Result(problem, before, outcome, outcome.chart or Path(chart))
