"""The plain training loop, which a doctor may watch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil

import torch
from torch import Tensor

from benchmarks.published.autotrainer.prepare import Pair, Prepared
from sickbay.doctor import Doctor, watch
from sickbay.history import History
from sickbay.problems import Problem

AfterEpoch = Callable[[int, History], None]


@dataclass(frozen=True)
class EndOfEpochs:
    """Chooses the first step, and the last step of every `every`th epoch."""

    per_epoch: int
    every: int = 1

    def __call__(self, step: int) -> bool:
        return step == 0 or (step + 1) % (self.per_epoch * self.every) == 0


@dataclass
class Curves:
    """The accuracy after each epoch, on training and on validation samples."""

    accuracy: list[float] = field(default_factory=list)
    val_accuracy: list[float] = field(default_factory=list)


def steps_per_epoch(prepared: Prepared) -> int:
    return ceil(len(prepared.samples.x) / prepared.recipe.batch_size)


def doctor_for(prepared: Prepared, problems: tuple[Problem, ...], every: int = 1) -> Doctor:
    """Watch a model at the end of every `every`th epoch, as AutoTrainer does."""
    recipe = prepared.recipe
    return watch(
        recipe.model,
        recipe.optimizer,
        problems=problems,
        every=EndOfEpochs(steps_per_epoch(prepared), every),
        epochs=recipe.epochs,
        on_finding="silent",
    )


def train(
    prepared: Prepared, seed: int, doctor: Doctor | None = None, after: AfterEpoch | None = None
) -> Curves:
    """Train to the end whatever happens. Call `after` after each epoch that a doctor watches."""
    recipe, curves = prepared.recipe, Curves()
    order = torch.Generator().manual_seed(seed)
    for epoch in range(1, (recipe.epochs or 1) + 1):
        curves.accuracy.append(train_epoch(prepared, order, doctor))
        curves.val_accuracy.append(accuracy_on(prepared, prepared.validation))
        if doctor is not None:
            doctor.epoch(accuracy=curves.accuracy[-1], val_accuracy=curves.val_accuracy[-1])
            if after is not None:
                after(epoch, doctor.history)
    if doctor is not None:
        doctor.close()
    return curves


def train_epoch(prepared: Prepared, order: torch.Generator, doctor: Doctor | None) -> float:
    """Train for one epoch and return the accuracy on its batches."""
    recipe, (inputs, targets) = prepared.recipe, prepared.training
    labels, right = prepared.samples.y, 0
    recipe.model.train()
    for rows in torch.randperm(len(inputs), generator=order).split(recipe.batch_size):
        outputs = recipe.model(inputs[rows])
        loss = recipe.loss(outputs, targets[rows])
        recipe.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        recipe.optimizer.step()
        right += count_right(prepared, outputs.detach(), labels[rows])
        if doctor is not None:
            doctor.step(loss, outputs=outputs, targets=targets[rows])
    return right / len(inputs)


def accuracy_on(prepared: Prepared, held_out: Pair) -> float:
    prepared.recipe.model.eval()
    with torch.no_grad():
        outputs = prepared.recipe.model(held_out[0])
    labels = prepared.samples.y_test[: len(outputs)]
    return count_right(prepared, outputs, labels) / len(outputs)


def count_right(prepared: Prepared, outputs: Tensor, labels: Tensor) -> int:
    finite = outputs.isfinite().flatten(1).all(1)
    return int(((prepared.guesses(outputs) == labels) & finite).sum())
