"""Runs that train nothing: their progress is written down beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn

import sickbay
from sickbay.findings import Finding
from sickbay.remedies import Remedy
from sickbay.repairs.executor import Executor
from sickbay.repairs.journal import Journal
from sickbay.repairs.run import Progress, Run, Update, Weights
from sickbay.repairs.search import Search
from sickbay.repairs.training_loop import RunSettings

FOUND = Finding(problem="loss_spike", step=1, message="it is high")
OTHER = Finding(problem="plateau", step=1, message="it is flat")
AS_GIVEN, TO_THE_END = "as given", "to the end"
Script = Callable[[float], Progress]  # from the epochs trained to the progress
Scripts = Mapping[str, Script | Sequence[Script]]  # one for all heats, or one for each


@dataclass(frozen=True)
class Change(Remedy):
    """Change something."""

    treats = (FOUND.problem, OTHER.problem)
    what: str = ""

    @property
    def key(self) -> str:
        return self.what

    def prescribe(self, _finding: Finding, recipe: sickbay.Recipe) -> sickbay.Recipe:
        return recipe.but(f"# {self.what}")


@dataclass(frozen=True)
class Continue(Change):
    """Change something, and keep what was learnt."""

    keeps_weights: ClassVar[bool] = True


def at(score: float, **more: Any) -> Script:
    """Return a run that always has this score."""
    return lambda epochs: Progress(**{"epochs": epochs, "score": score, **more})


class ScriptedExecutor(Executor):
    """Runs follow the script for their remedy's key.

    Attributes:
        heats: The keys of the remedies in each heat, and its epochs.
        started: The recipe and the weights that each run started from.
    """

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts
        self.heats: list[tuple[str, int]] = []
        self.started: list[tuple[sickbay.Recipe, Weights | None]] = []

    def start(self, run: Run, weights: Weights | None, chart: str | None) -> None:  # noqa: ARG002
        self.started.append((run.recipe, weights))

    def advance(
        self,
        runs: Sequence[Run],
        epochs: int,
        stop_at_findings: bool,
        on_epoch: Callable[[Run, Update], object],
    ) -> None:
        names = [
            run.attempt.remedy or (AS_GIVEN if stop_at_findings else TO_THE_END) for run in runs
        ]
        self.heats.append((" ".join(names), epochs))
        for run, name in zip(runs, names, strict=True):
            script = self._scripts[name]
            if not callable(script):
                script = script[len(run.heats)]
            progress = script(run.progress.epochs + epochs)
            on_epoch(run, Update(progress, weights_of(run.number)))

    def close(self, run: Run) -> None: ...


def weights_of(number: int) -> Weights:
    return {"weight": torch.tensor([[float(number)]]), "bias": torch.zeros(1)}


def search_of(
    scripts: Scripts, remedies: Sequence[Remedy] = (), epochs: int = 10, budget: float = 100.0
) -> Search:
    """Return a search of scripted runs; the remedies are for every finding."""
    model = nn.Linear(1, 1)
    recipe = sickbay.Recipe(model, nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.1))
    settings = RunSettings(problems=(), treatable=(), epochs=epochs)
    choices = {FOUND.problem: remedies, OTHER.problem: remedies}
    journal = Journal(None, False, dict, None, None)
    return Search(recipe, settings, ScriptedExecutor(scripts), journal, choices, budget)
