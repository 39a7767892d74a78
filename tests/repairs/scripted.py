"""Runs that train nothing: their progress is written down beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import torch
from torch import nn

import sickbay
from sickbay.findings import Finding
from sickbay.problems import LossSpike
from sickbay.problems.shared.yardsticks import Yardstick
from sickbay.remedies import Remedy
from sickbay.repairs import candidates, race
from sickbay.repairs.journal import Journal
from sickbay.repairs.outcome import Outcome
from sickbay.repairs.run import Progress, Run, Update, Weights
from sickbay.repairs.run_settings import RunSettings
from sickbay.repairs.search import Search

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


@dataclass(frozen=True)
class Lengthen(Change):
    """Train three times as long."""

    def prescribe(self, _finding: Finding, recipe: sickbay.Recipe) -> sickbay.Recipe:
        return recipe.but(f"# {self.what}", epochs=30)


@dataclass(frozen=True)
class GoOn(Continue):
    """Go on with the same training."""

    continues: ClassVar[bool] = True


@dataclass(frozen=True)
class GoOnLonger(GoOn):
    """Go on with the same training, for three times as long in all."""

    def prescribe(self, _finding: Finding, recipe: sickbay.Recipe) -> sickbay.Recipe:
        return recipe.but(f"# {self.what}", epochs=30)


@dataclass(frozen=True)
class Mend(Change):
    """Change what is wrong for all to see."""

    specific: ClassVar[bool] = True


@dataclass(frozen=True)
class Unlock(Mend):
    """Change what seems to be wrong, and keep what was learnt."""

    keeps_weights: ClassVar[bool] = True


class Measured:
    """Yardsticks that are written down beforehand."""

    def __init__(self, yardstick: Yardstick) -> None:
        self._yardstick = yardstick

    def of(self, _recipe: sickbay.Recipe) -> Yardstick:
        return self._yardstick


def at(score: float, **more: Any) -> Script:
    """Return a run that always has this score."""
    return lambda epochs: Progress(**{"epochs": epochs, "score": score, **more})


class ScriptedExecutor:
    """Runs follow the script for their remedy's key.

    Attributes:
        heats: The keys of the remedies in each heat, and its epochs.
        started: The recipe and the weights that each run started from.
    """

    pausable = True

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
    scripts: Scripts,
    remedies: Sequence[Remedy] = (),
    epochs: int = 10,
    budget: float = 100.0,
    most: float | None = None,
    yardstick: Yardstick | None = None,
    hints: Sequence[Remedy] | None = None,
    shown: Sequence[Remedy] | None = None,
) -> Search:
    """Return a search of scripted runs; the remedies are for every finding.

    `hints` are for a plateau in their place, and `shown` for a loss that was still falling.
    """
    model = nn.Linear(1, 1)
    recipe = sickbay.Recipe(model, nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.1))
    settings = RunSettings(problems=[LossSpike()], treatable=(), epochs=epochs)
    choices = dict.fromkeys([FOUND.problem, "underfitting"], remedies)
    choices[OTHER.problem] = remedies if hints is None else hints
    choices["still_falling"] = remedies if shown is None else shown
    yardsticks: Any = Measured(yardstick or Yardstick())
    journal = Journal(None, False, dict, None, None)
    executor: Any = ScriptedExecutor(scripts)
    return Search(recipe, settings, executor, journal, choices, budget, most, yardsticks)


ILL = at(0.1, start={"val_accuracy": 0.1}, finding=FOUND)


def learns(score: float, **more: Any) -> Script:
    """Return a run that has gained something since its start."""
    return at(
        score, **{"start": {"val_accuracy": 0.0}, "scores": [{"val_accuracy": score}], **more}
    )


class Odds:
    def __init__(self, mean: float) -> None:
        self.mean = mean


class Race:
    """A race of scripted runs, by remedies of these odds."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, scripts: Scripts, odds: Mapping[str, float],
        remedies: Sequence[Remedy] | None = None, **more: Any,
    ) -> None:  # fmt: skip
        for part in (race, candidates):
            monkeypatch.setattr(part, "odds", lambda _, remedy: Odds(odds[remedy.key]))
        monkeypatch.setattr(candidates, "worth", lambda _, remedy: odds[remedy.key])
        given = [Change(name) for name in odds] if remedies is None else remedies
        whole = {AS_GIVEN: ILL, TO_THE_END: at(0.1), **scripts}
        self.search: Search = search_of(whole, given, **more)
        self.executor: Any = self.search.executor
        self.outcome: Outcome = race.race(self.search)

    @property
    def heats(self) -> list[tuple[str, int]]:
        """The heats after that of the recipe as given."""
        heats: list[tuple[str, int]] = self.executor.heats[1:]
        return heats

    @property
    def results(self) -> dict[str, str]:
        return {each.remedy: each.result for each in self.outcome.attempts}

    @property
    def counts(self) -> list[tuple[str, bool]]:
        return [(remedy.key, worked) for _, remedy, worked in self.search._counts]
