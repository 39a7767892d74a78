"""Repairs around the user's own loop."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import sickbay
from sickbay.demo.circles import circles
from tests.repairs.test_fit import healthy, sick


def accuracy(model: nn.Module, points: Tensor, labels: Tensor) -> float:
    with torch.no_grad():
        return float(((model(points) > 0) == (labels > 0)).float().mean())


def test_a_loop_of_ones_own() -> None:
    points, labels = circles(512)
    held = circles(256, seed=1)
    batches = list(zip(torch.split(points, 64), torch.split(labels, 64), strict=True))
    runs: list[str] = []

    def train(recipe: sickbay.Recipe, doctor: Any) -> None:
        runs.append(type(recipe.model[1]).__name__)  # type: ignore[index]
        for _ in range(20):
            recipe.model.train()
            for x, y in batches:
                recipe.optimizer.zero_grad()
                loss = recipe.loss(recipe.model(x), y)
                loss.backward()  # type: ignore[no-untyped-call]
                recipe.optimizer.step()
                doctor.step(loss)
            recipe.model.eval()
            doctor.epoch(val_accuracy=accuracy(recipe.model, *held))

    model = sick()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    recipe = sickbay.Recipe(model, nn.BCEWithLogitsLoss(), optimizer, epochs=20)
    outcome = sickbay.repair(recipe, train=train, progress=False)
    assert outcome.solved
    assert outcome.score > 0.95
    assert runs[0] == "Sigmoid"
    assert len(runs) == len(outcome.attempts)
    assert accuracy(outcome.model, *held) == outcome.score


@pytest.mark.parametrize("told", ["nothing", "accuracy", "odd"])
def test_a_loop_that_tells_little(told: str) -> None:
    points, labels = circles(256)

    def train(recipe: sickbay.Recipe, doctor: Any) -> None:
        for _ in range(8):
            for _ in range(20):
                recipe.optimizer.zero_grad()
                loss = recipe.loss(recipe.model(points), labels)
                loss.backward()  # type: ignore[no-untyped-call]
                recipe.optimizer.step()
                doctor.step(loss)
            if told == "accuracy":
                doctor.epoch(accuracy=accuracy(recipe.model, points, labels))
            elif told == "odd":
                doctor.epoch(beauty=1.0)

    model = healthy()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    recipe = sickbay.Recipe(model, nn.BCEWithLogitsLoss(), optimizer, epochs=8)
    outcome = sickbay.repair(recipe, train=train, progress=False)
    assert outcome.solved
    assert accuracy(outcome.model, points, labels) > 0.9


def test_what_a_loop_of_ones_own_raises_is_raised() -> None:
    def train(_recipe: sickbay.Recipe, _doctor: Any) -> None:
        raise ZeroDivisionError

    model = healthy()
    optimizer = torch.optim.Adam(model.parameters())
    recipe = sickbay.Recipe(model, nn.BCEWithLogitsLoss(), optimizer)
    with pytest.raises(ZeroDivisionError):
        sickbay.repair(recipe, train=train, progress=False)


def test_neither_data_nor_a_loop() -> None:
    model = healthy()
    recipe = sickbay.Recipe(model, nn.MSELoss(), torch.optim.Adam(model.parameters()))
    with pytest.raises(sickbay.UsageError, match="data, or train="):
        sickbay.repair(recipe)


def test_a_loop_that_makes_no_step() -> None:
    model = healthy()
    recipe = sickbay.Recipe(model, nn.MSELoss(), torch.optim.Adam(model.parameters()))
    with pytest.raises(sickbay.UsageError, match=r"train must call doctor\.step"):
        sickbay.repair(recipe, train=lambda _recipe, _doctor: None, progress=False)


def test_patience_is_carried_out() -> None:
    rates: list[float] = []

    def train(recipe: sickbay.Recipe, doctor: Any) -> None:
        for _ in range(6):
            recipe.optimizer.zero_grad()
            loss = recipe.loss(recipe.model(torch.ones(4, 2)), torch.ones(4, 1))
            loss.backward()  # type: ignore[no-untyped-call]
            recipe.optimizer.step()
            doctor.step(loss)
            doctor.epoch(val_accuracy=0.5)
            rates.append(recipe.lr)

    model = healthy()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    recipe = sickbay.Recipe(model, nn.MSELoss(), optimizer, epochs=9, patience=2)
    sickbay.repair(recipe, train=train, progress=False)
    assert rates == [1e-3, 1e-3, 1e-3, 5e-4, 5e-4, 5e-4]
