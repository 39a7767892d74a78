"""What all runs of a repair have in common, and what is peculiar to one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from sickbay.findings import Finding
from sickbay.problems import Problem
from sickbay.problems.shared.yardsticks import Yardstick
from sickbay.recipe import Recipe
from sickbay.repairs.metrics import Metric
from sickbay.repairs.run import Run


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What all runs of a repair have in common."""

    problems: Sequence[Problem]
    treatable: Collection[str]  # the problems that stop a run
    epochs: int
    target: float | None = None
    device: str = "cpu"
    seed: int = 0
    metric: Metric | None = None  # the score; None is the default of the task
    check_every: int | None = None  # epochs between two checks; None checks every step
    yardstick: Yardstick = field(default_factory=Yardstick)  # what scores are held against
    trained: bool = False  # whether the first weights have been trained before
    done: int = 0  # of the planned epochs, which the first weights have had before

    def epochs_of(self, recipe: Recipe) -> int:
        """Return the planned epochs of a recipe that are left, without its cooldown."""
        planned = self.epochs if recipe.epochs is None else recipe.epochs
        return max(1, planned - self.done)

    def of(self, run: Run) -> RunSettings:
        """Return the settings with what is peculiar to a run."""
        return replace(self, treatable=run.treatable, yardstick=run.yardstick, done=run.done)

    def reached(self, score: float) -> bool:
        """Return whether a score reaches the target."""
        return self.target is not None and score >= self.target

    def stops(self, finding: Finding, near_best: bool) -> bool:
        """Return whether a finding stops a run whose score is, or is not, near its best."""
        if finding.severity == "info":
            return False
        tolerated = {each.name() for each in self.problems if each.tolerated_at_best}
        if near_best and finding.problem in tolerated:
            return False
        return finding.problem in self.treatable
