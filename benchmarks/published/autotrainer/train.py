"""The plain training loop, which a doctor may watch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from torch import Tensor

from benchmarks.published.autotrainer.prepare import Prepared
from sickbay.doctor import Doctor, watch
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.repairs.data import Data
from sickbay.repairs.scoring import evaluate
from sickbay.repairs.training_accuracy import TrainingAccuracy

AfterEpoch = Callable[[int, History], None]


@dataclass(frozen=True)
class EndOfEpochs:
    """Chooses the first step, and the last step of every `every`th epoch."""

    per_epoch: int
    every: int = 1

    def __call__(self, step: int) -> bool:
        return step == 0 or (step + 1) % (self.per_epoch * self.every) == 0


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
) -> list[float]:
    """Train to the end whatever happens and return the training accuracy of each epoch.

    It calls `after` after each epoch that a doctor watches. The samples come in the same order as
    in `sickbay.repair`.
    """
    recipe, curve = prepared.recipe, list[float]()
    data = Data.of(prepared.training, prepared.validation, batch_size=recipe.batch_size, seed=seed)
    accuracy = TrainingAccuracy(recipe.loss, data.targets)
    for epoch in range(recipe.epochs or 1):
        curve.append(train_epoch(prepared, data, epoch, accuracy, doctor))
        known = evaluate(recipe.model, recipe.loss, data) | accuracy.end_epoch()
        if doctor is not None:
            doctor.epoch(**known)
            if after is not None:
                after(epoch + 1, doctor.history)
    if doctor is not None:
        doctor.close()
    return curve


def train_epoch(
    prepared: Prepared, data: Data, epoch: int, accuracy: TrainingAccuracy, doctor: Doctor | None
) -> float:
    """Train for one epoch and return the share of right answers."""
    recipe, right, count = prepared.recipe, 0, 0
    recipe.model.train()
    for inputs, targets in data.batches(recipe.batch_size, epoch):
        outputs = recipe.model(*inputs)
        loss = recipe.loss(outputs, targets)
        recipe.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        recipe.optimizer.step()
        accuracy.add(inputs, outputs, targets)
        right += prepared.count_right(outputs.detach(), labels_of(targets))
        count += len(targets)
        if doctor is not None:
            doctor.step(loss, outputs=outputs, targets=targets)
    return right / count


def labels_of(targets: Tensor) -> Tensor:
    """Return the classes that targets of any loss stand for.

    >>> import torch
    >>> [labels_of(torch.tensor(each)).tolist() for each in ([[-1.0], [1.0]], [[0, 0, 1]], [3, 0])]
    [[0, 1], [2], [3, 0]]
    """
    if targets.ndim == 2 and targets.shape[1] > 1:
        return targets.argmax(1)
    flat = targets.flatten()
    return (flat > 0).long() if bool((flat < 0).any()) else flat.long()
