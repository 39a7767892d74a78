"""The runs of the detection benchmark as recipes with data and a score."""

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

# Reported in the paper: repaired and detected runs, by problem.
PUBLISHED = {
    "vanishing_gradient": (49, 53), "exploding_gradient": (50, 54), "dying_relu": (24, 24),
    "slow_convergence": (167, 167), "oscillating_accuracy": (30, 30), "improper_output": (66, 66),
    "improper_loss": (65, 65), "abnormal_data": (47, 47),
}  # fmt: skip
LONGER = 3  # times the steps of the detection benchmark, since repairs need whole trainings
HELD_OUT = 2000  # samples if possible, enough to tell a gain of 2 points from noise
VALIDATION = 4  # training validates on a fourth of the held-out samples, the rest is for scores
# The loss does not depend on the real targets, so nothing can be learnt.
UNLEARNABLE = ("nll_values",)
Guess = Callable[[Tensor, int], Tensor]


@dataclass(frozen=True)
class RepairCase:
    """A run of the detection benchmark, and its healthy twin."""

    name: str
    problem: str
    seed: int
    plan: Plan
    twin: Plan | None
    folder: Path | None
    quick: bool


class InOneRow(nn.Module):
    """A loss over the tokens of all sequences in one row, as the models return them."""

    def __init__(self, loss: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.loss = loss

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self.loss(outputs, targets.flatten())


@dataclass(frozen=True)
class PreparedRun:
    """A recipe, its data, and a function that scores a trained model."""

    recipe: Recipe
    data: tuple[Tensor, Tensor]
    validation: tuple[Tensor, Tensor]
    score: Callable[[nn.Module, Recipe], float]


def repair_cases(folder: Path | None, problems: Sequence[str]) -> list[RepairCase]:
    """Return the runs of some problems ("" for healthy runs) that a recipe can describe."""
    found = [
        RepairCase(case.name, case.problem, case.seed, *plans(case), folder, case.quick)
        for case in cases(folder)
        if case.problem in problems and is_planned(case)
    ]
    return [each for each in found if can_be_described(each.plan)]


def is_planned(case: Case) -> bool:
    """Return whether a case follows a plan rather than a custom loop such as that of a GAN."""
    return isinstance(case.train, partial) and case.train.func is zoo_train.train


def plans(case: Case) -> tuple[Plan, Plan | None]:
    sick: Plan = case.train.args[0]  # type: ignore[attr-defined]
    twin: Plan | None = case.twin.args[0] if case.twin else None  # type: ignore[attr-defined]
    return sick, twin


def can_be_described(plan: Plan) -> bool:
    """Return whether the plan changes nothing in the loop itself and can be repaired at all."""
    loop = (plan.batch, plan.rate, plan.loss, plan.groups)
    return not any(loop) and plan.accumulate == 1 and plan.objective not in UNLEARNABLE


def prepare_run(plan: Plan, seed: int, folder: Path | None) -> PreparedRun:
    """Build the recipe, data and score of a plan."""
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
    """Score a model on samples that training has not used, as the detection benchmark does."""
    held = slice(len(data.x_test) // VALIDATION, None)
    unseen = replace(data, x_test=data.x_test[held], y_test=data.y_test[held])
    return zoo_train.score(model, unseen, guess_of(recipe, data, objective))


def guess_of(recipe: Recipe, data: ZooData, objective: Objective) -> Guess:
    """Return what turns outputs into labels: that of the plan, or of the loss a repair has set."""
    if isinstance(recipe.loss, Fitted) and data.task == "classes":
        return best if recipe.loss.meaning == "classes" else above_zero
    return objective.guess
