"""A sick network: trained as it is, then found, repaired and retrained."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import torch

from sickbay.console import Console
from sickbay.demo.sick_models import PATIENTS
from sickbay.repairs import Outcome, repair
from sickbay.repairs.data import Data
from sickbay.repairs.training_loop import RunSettings, TrainingLoop


@dataclass(frozen=True)
class Result:
    """What a demo ended with."""

    problem: str
    before: float
    outcome: Outcome

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"problem": self.problem, "trained_as_it_was": self.before} | self.outcome.as_json()


def run(
    problem: str,
    epochs: int,
    chart: str | os.PathLike[str],
    console: Console | None = None,
    progress: bool = True,
) -> Result:
    """Let a sick network be repaired, and train it as it is; everything from fixed seeds."""
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
    plain = TrainingLoop(
        recipe,
        Data.of(data, validation, batch_size=recipe.batch_size),
        RunSettings(problems=(), treatable=(), epochs=epochs),
    )
    before = plain.advance(epochs).scores[-1]["val_accuracy"]
    plain.close()
    return Result(problem, before, outcome)
