"""Learning-rate schedules: every attempt has its own, scaled to its own rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim import lr_scheduler as lrs
from torch.utils.data import DataLoader, TensorDataset

import sickbay
from sickbay.demo.flawed_models import circles
from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies import Remedy
from tests.repairs.datasets import refused
from tests.repairs.schedules import BATCHES, EPOCHS, KIND, STEPS, one_cycle, recipe, rising, sgd
from tests.repairs.test_fit import fit, healthy, sick


def recorded(values: list[float]) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a loss that keeps what it gives in training."""

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        value = nn.functional.binary_cross_entropy_with_logits(outputs, targets)
        if torch.is_grad_enabled():
            values.append(value.item())
        return value

    return loss


def loader() -> DataLoader[Any]:
    return DataLoader(TensorDataset(*circles(64 * BATCHES)), 64)


def plain_loop(make: Callable[[Optimizer], lrs.LRScheduler], step: str) -> list[float]:
    """Train as anybody would; return the losses."""
    model, losses = healthy(), list[float]()
    optimizer, loss = sgd(model), recorded(losses)
    scheduler: Any = make(optimizer)
    points, labels = circles(256, seed=1)
    for _ in range(EPOCHS):
        for x, y in loader():
            optimizer.zero_grad()
            loss(model(x), y).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if step == "batch":
                scheduler.step()
        if step == "batch":
            continue
        with torch.no_grad():
            outputs = model(points)
            held = loss(outputs, labels).item()
        if isinstance(scheduler, lrs.ReduceLROnPlateau) and scheduler.mode == "max":
            scheduler.step(float(((outputs > 0) == (labels > 0)).double().mean()))
        elif isinstance(scheduler, lrs.ReduceLROnPlateau):
            scheduler.step(held)
        else:
            scheduler.step()
    return losses


@pytest.mark.parametrize("as_object", [True, False], ids=["object", "function"])
@KIND
def test_a_healthy_fit_is_a_plain_loop_to_the_bit(
    make: Callable[[Optimizer], lrs.LRScheduler], step: Any, as_object: bool
) -> None:
    model, losses = healthy(), list[float]()
    optimizer = sgd(model)
    outcome = sickbay.fit(
        model, loader(), loss=recorded(losses), optimizer=optimizer,
        validation=circles(256, seed=1),
        scheduler=make(optimizer) if as_object else make, scheduler_step=step,
        epochs=EPOCHS, remedies=[], progress=False,
    )  # fmt: skip
    assert (len(outcome.attempts), outcome.epochs) == (1, EPOCHS)
    assert losses[-STEPS:] == plain_loop(make, step)


def test_what_is_given_stays_as_it_is() -> None:
    model = healthy()
    optimizer = sgd(model)
    scheduler = lrs.StepLR(optimizer, 1)
    before = repr(scheduler.state_dict()), repr(optimizer.state_dict())
    fit(model, optimizer=optimizer, scheduler=scheduler, epochs=2)
    assert (repr(scheduler.state_dict()), repr(optimizer.state_dict())) == before
    assert scheduler.optimizer is optimizer


def test_a_repair_has_a_schedule_for_each_attempt_and_no_cooldown() -> None:
    rates: list[list[float]] = []

    def noted(optimizer: Optimizer) -> lrs.LRScheduler:
        own = list[float]()
        rates.append(own)

        def factor(epoch: int) -> float:
            own.append(optimizer.param_groups[0]["lr"])
            return float(0.95**epoch)

        return lrs.LambdaLR(optimizer, factor)

    outcome = fit(sick(), scheduler=noted)
    assert outcome.solved
    assert len(outcome.attempts) > 1
    assert outcome.recipe.cooldown == 0
    stepped = [len(each) - 1 for each in rates[1:]]  # the first was only tried out
    assert stepped == [int(each.epochs) for each in outcome.attempts]
    healthy_ones = [each for each in outcome.attempts if each.result == "healthy"]
    assert healthy_ones[0].epochs == 20


@dataclass(frozen=True)
class BiggerBatch(Remedy):
    """Double the batch."""

    treats = ("vanishing_gradient",)

    def prescribe(self, _finding: Finding, recipe: Recipe) -> Recipe:
        return recipe.but("# more", batch_size=2 * recipe.batch_size)


def test_a_schedule_by_batches_keeps_the_batch_size() -> None:
    more: dict[str, Any] = {"scheduler": lambda made: lrs.LambdaLR(made, rising), "epochs": 2}
    remedies = [BiggerBatch()]
    by_epoch = fit(sick(), remedies=remedies, scheduler_step="epoch", **more)
    assert {each.remedy for each in by_epoch.attempts} == {"", "bigger_batch"}
    by_batch = fit(sick(), remedies=remedies, scheduler_step="batch", **more)
    assert {each.remedy for each in by_batch.attempts} == {""}


def test_in_processes_it_comes_to_the_same() -> None:
    model = healthy()
    optimizer = sgd(model)
    more: dict[str, Any] = {
        "optimizer": optimizer, "scheduler": one_cycle(optimizer), "scheduler_step": "batch",
        "epochs": EPOCHS, "remedies": [],
    }  # fmt: skip
    alone, several = fit(model, **more), fit(model, workers=2, **more)
    assert several.history == alone.history


def test_a_function_of_a_function_cannot_be_sent() -> None:
    told = refused(lambda: fit(healthy(), workers=2, scheduler=lambda made: lrs.StepLR(made, 2)))
    assert told.startswith("scheduler cannot be sent to worker processes")


def test_another_schedule_is_another_repair(tmp_path: Path) -> None:
    def repair(gamma: float) -> sickbay.Outcome:
        model = healthy()
        optimizer = sgd(model)
        made = lrs.StepLR(optimizer, 2, gamma=gamma)
        more: dict[str, Any] = {
            "chart": tmp_path / "run",
            "resume": True,
            "epochs": 1,
            "remedies": [],
        }
        return fit(model, optimizer=optimizer, scheduler=made, **more)

    repair(0.5)
    repair(0.5)
    assert "Different: 'scheduler'." in refused(lambda: repair(0.4))


def test_what_is_refused() -> None:
    other = lrs.StepLR(sgd(healthy()), 2)
    assert refused(lambda: fit(healthy(), scheduler=other)).startswith(
        "scheduler must be made from the optimizer that is given, got a StepLR of another one;"
    )
    assert refused(lambda: fit(healthy(), scheduler=lambda _: other)) == (
        "scheduler must use the optimizer that it is called with, got another."
    )
    model = healthy()
    optimizer = sgd(model)
    plateau = lrs.ReduceLROnPlateau(optimizer)
    more: dict[str, Any] = {"optimizer": optimizer, "scheduler": plateau}
    assert refused(lambda: fit(model, scheduler_step="batch", **more)).startswith(
        "scheduler_step must be 'epoch' for ReduceLROnPlateau"
    )


def test_a_loop_of_one_s_own_makes_the_scheduler_itself() -> None:
    seen: list[float] = []

    def train(given: Recipe, doctor: Any) -> None:
        assert callable(given.scheduler)
        scheduler = given.scheduler(given.optimizer)
        x, y = circles(64)
        for _ in range(3):
            seen.append(given.optimizer.param_groups[0]["lr"])
            given.optimizer.zero_grad()
            loss = given.loss(given.model(x), y)
            loss.backward()  # type: ignore[no-untyped-call]
            given.optimizer.step()
            doctor.step(loss)
            scheduler.step()
            doctor.epoch(val_loss=loss.item())

    sickbay.repair(recipe(lambda made: lrs.ExponentialLR(made, 0.5)), train=train, progress=False)
    assert seen[:3] == pytest.approx([0.01, 0.005, 0.0025])
