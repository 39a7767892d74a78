"""Turn a model of the benchmark into a recipe with its data, and score trained models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.detection.data_sets import Data
from benchmarks.detection.losses import OBJECTIVES, Objective
from benchmarks.detection.training_loop import changed, make_optimizer
from benchmarks.published.autotrainer.cases import Case
from benchmarks.published.autotrainer.data_sets import VALIDATION, load
from benchmarks.published.autotrainer.models import build
from benchmarks.repair.repair_cases import guess_of
from sickbay.recipe import Recipe

Pair = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Prepared:
    """A recipe, its samples, and what scores need."""

    recipe: Recipe
    samples: Data
    objective: Objective

    @property
    def training(self) -> Pair:
        data = self.samples
        return data.x, self.objective.target(data.y, data.size)

    @property
    def validation(self) -> Pair:
        data = self.samples
        return data.x_test[:VALIDATION], self.objective.target(data.y_test[:VALIDATION], data.size)

    def guesses(self, outputs: Tensor, recipe: Recipe | None = None) -> Tensor:
        """Return the classes that outputs stand for, -1 where they are not finite."""
        guess = guess_of(recipe or self.recipe, self.samples, self.objective)
        finite = outputs.isfinite().flatten(1).all(1)
        return guess(outputs, self.samples.size).where(finite, torch.tensor(-1))

    def score(self, model: nn.Module, recipe: Recipe) -> dict[str, float]:
        """Return accuracy, precision and recall on samples that training has not used."""
        model.eval()
        with torch.no_grad():
            outputs = model(self.samples.x_test[VALIDATION:])
        return rates(self.guesses(outputs, recipe), self.samples.y_test[VALIDATION:])

    def count_right(self, outputs: Tensor, labels: Tensor) -> int:
        return int((self.guesses(outputs) == labels).sum())


def prepare(case: Case, folder: Path | None, seed: int | None = None) -> Prepared:
    """Build the recipe and the data of a case, by default with the seed of the case."""
    plan = case.plan
    torch.manual_seed(case.seed if seed is None else seed)
    data, objective = changed(load(plan.data, folder), plan), OBJECTIVES[plan.objective]
    model = build(plan.net, data, objective.width(data))
    if plan.surgery:
        plan.surgery(model)
    loss, optimizer = objective.module(), make_optimizer(plan, model)
    recipe = Recipe(model, loss, optimizer, batch_size=plan.size, epochs=case.epochs)
    return Prepared(recipe, data, objective)


def rates(guesses: Tensor, labels: Tensor) -> dict[str, float]:
    """Return accuracy, and precision and recall averaged over the classes that occur.

    >>> rates(torch.tensor([0, 0, 1, 0]), torch.tensor([0, 0, 1, 1]))
    {'accuracy': 0.75, 'precision': 0.8333, 'recall': 0.75}
    """
    precisions, recalls = [], []
    for each in sorted(set(labels.tolist())):
        right = float(((guesses == each) & (labels == each)).sum())
        precisions.append(right / max(1, int((guesses == each).sum())))
        recalls.append(right / int((labels == each).sum()))
    means = (sum(precisions) / len(precisions), sum(recalls) / len(recalls))
    accuracy = float((guesses == labels).float().mean())
    figures = zip(("accuracy", "precision", "recall"), (accuracy, *means), strict=True)
    return {name: round(value, 4) for name, value in figures}
