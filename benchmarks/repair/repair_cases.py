"""The runs of the zoo as recipes with data, and what a trained model of one is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.detection import training_loop as zoo_train
from benchmarks.detection.all_runs import cases
from benchmarks.detection.case import Case
from benchmarks.detection.data_sets import Data as ZooData
from benchmarks.detection.losses import OBJECTIVES, Objective, above_zero, best, same
from benchmarks.detection.models import build
from benchmarks.detection.training_loop import Plan, make_optimizer, prepare
from sickbay.recipe import Recipe
from sickbay.remedies import Fitted

# What the paper reports: repaired of detected, by problem.
PUBLISHED = {
    "vanishing_gradient": (49, 53), "exploding_gradient": (50, 54), "dying_relu": (24, 24),
    "slow_convergence": (167, 167), "oscillating_accuracy": (30, 30), "improper_output": (66, 66),
    "improper_loss": (65, 65), "abnormal_data": (47, 47),
}  # fmt: skip
LONGER = 3  # times the steps of the zoo: a repair is about whole trainings
HELD_OUT = 2000  # samples, where there are so many: enough to tell 2 points from chance
VALIDATION = 4  # every so many of them may be looked at in training; the others are scored on
# The loss was fed nothing of what is to be learnt, so nothing can be.
UNLEARNABLE = ("nll_values",)


@dataclass(frozen=True)
class RepairCase:
    """A run of the zoo."""

    name: str
    problem: str
    seed: int
    plan: Plan
    twin: Plan | None
    folder: Path | None
    quick: bool


class InOneRow(nn.Module):
    """A loss on the tokens of all sequences in one row, as the zoo's models put them out."""

    def __init__(self, loss: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.loss = loss

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self.loss(outputs, targets.flatten())


@dataclass(frozen=True)
class PreparedRun:
    """A plan with everything that is needed to train it."""

    recipe: Recipe
    data: tuple[Tensor, Tensor]
    validation: tuple[Tensor, Tensor]
    score: Callable[[nn.Module, Recipe], float]


def repair_cases(folder: Path | None, problems: Sequence[str]) -> list[RepairCase]:
    """Return the runs of some problems, "" for healthy ones; those that a recipe can describe."""
    found = [
        RepairCase(case.name, case.problem, case.seed, *plans(case), folder, case.quick)
        for case in cases(folder)
        if case.problem in problems and is_planned(case)
    ]
    return [each for each in found if can_be_described(each.plan)]


def is_planned(case: Case) -> bool:
    """Tell whether it is a plan, not a loop of its own (GANs and the like)."""
    return isinstance(case.train, partial) and case.train.func is zoo_train.train


def plans(case: Case) -> tuple[Plan, Plan | None]:
    sick: Plan = case.train.args[0]  # type: ignore[attr-defined]
    twin: Plan | None = case.twin.args[0] if case.twin else None  # type: ignore[attr-defined]
    return sick, twin


def can_be_described(plan: Plan) -> bool:
    """Tell whether nothing in it is a matter of the loop; and whether it can be cured at all."""
    loop = (plan.batch, plan.rate, plan.loss, plan.groups)
    return not any(loop) and plan.accumulate == 1 and plan.objective not in UNLEARNABLE


def prepare_run(plan: Plan, seed: int, folder: Path | None) -> PreparedRun:
    """Return a plan as a recipe with its data."""
    torch.manual_seed(seed)
    data, objective = prepare(plan, seed % 2, folder, HELD_OUT), OBJECTIVES[plan.objective]
    model = build(plan.net, data, objective.width(data))
    if plan.surgery:
        plan.surgery(model)
    per_epoch = max(1, len(data.x) // plan.size)
    loss = objective.module() if plan.module else objective.function
    in_rows = data.task == "next"
    recipe = Recipe(
        model,
        InOneRow(loss) if in_rows else loss,
        make_optimizer(plan, model),
        batch_size=plan.size,
        epochs=max(10, ceil(LONGER * plan.steps / per_epoch)),
        clip_norm=plan.clip or None,
    )
    targets = same if in_rows else objective.target
    held = slice(0, len(data.x_test) // VALIDATION)
    return PreparedRun(
        recipe,
        (data.x, targets(data.y, data.size)),
        (data.x_test[held], targets(data.y_test[held], data.size)),
        partial(score, data=data, objective=objective),
    )


def score(model: nn.Module, recipe: Recipe, data: ZooData, objective: Objective) -> float:
    """Return what a model is worth on samples that no training has looked at, as the zoo does."""
    guess = objective.guess
    if isinstance(recipe.loss, Fitted) and data.task == "classes":
        guess = best if recipe.loss.meaning == "classes" else above_zero
    held = slice(len(data.x_test) // VALIDATION, None)
    unseen = replace(data, x_test=data.x_test[held], y_test=data.y_test[held])
    return zoo_train.score(model, unseen, guess)
