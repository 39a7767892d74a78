"""Repairs around the user's own loop."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import sickbay
from sickbay.demo.circles import circles
from tests.repairs.samples import refused
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
    with pytest.raises(sickbay.UsageError, match=r"it was called 0 times"):
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


def test_the_class_of_a_loss() -> None:
    model = healthy()
    given: Any = nn.MSELoss
    recipe = sickbay.Recipe(model, given, torch.optim.Adam(model.parameters()))
    said = refused(lambda: sickbay.repair(recipe, train=print))
    assert "got the class MSELoss" in said


def drawn(seed: int) -> list[tuple[float, ...]]:
    """Return what a loop draws, attempt by attempt."""
    points, labels = circles(256)
    numbers: list[tuple[float, ...]] = []

    def train(recipe: sickbay.Recipe, doctor: Any) -> None:
        numbers.append((float(torch.rand(1)), float(np.random.rand()), random.random()))
        for _ in range(40):
            recipe.optimizer.zero_grad()
            loss = recipe.loss(recipe.model(points), labels)
            loss.backward()  # type: ignore[no-untyped-call]
            recipe.optimizer.step()
            doctor.step(loss)
            doctor.epoch(val_accuracy=0.5)

    with torch.random.fork_rng(devices=[]):
        model = sick()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    recipe = sickbay.Recipe(model, nn.BCEWithLogitsLoss(), optimizer, epochs=40)
    sickbay.repair(recipe, train=train, progress=False, seed=seed, budget=80)
    return numbers


def test_each_attempt_draws_the_same_and_leaves_the_users_numbers_alone() -> None:
    before = torch.get_rng_state(), str(np.random.get_state()), random.getstate()
    first, again, other = drawn(1), drawn(1), drawn(2)
    assert len(first) > 1
    assert len(set(first)) == 1
    assert first == again
    assert all(one != two for one, two in zip(first[0], other[0], strict=True))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (str(np.random.get_state()), random.getstate()) == before[1:]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"data": circles(64)}, "it cannot have data as well"),
        ({"validation": circles(64)}, "it cannot have validation as well"),
        ({"workers": 2}, "it cannot have workers as well"),
        ({"data": 1, "workers": "ray"}, "it cannot have data and workers as well"),
        ({"train": 3}, "train must be a function of a recipe and a doctor, got 3."),
    ],
    ids=str,
)
def test_what_is_not_for_a_loop_of_ones_own(more: dict[str, Any], said: str) -> None:
    model = healthy()
    recipe = sickbay.Recipe(model, nn.MSELoss(), torch.optim.Adam(model.parameters()))
    assert said in refused(lambda: sickbay.repair(recipe, **{"train": print, **more}))


def looping(steps: int = 40, swallow: bool = False, other: bool = False) -> Any:
    points, labels = circles(256)

    def train(recipe: sickbay.Recipe, doctor: Any) -> None:
        model = nn.Linear(2, 1) if other else recipe.model
        for _ in range(steps):
            try:
                recipe.optimizer.zero_grad()
                loss = recipe.loss(model(points), labels)
                loss.backward()  # type: ignore[no-untyped-call]
                if not other:
                    recipe.optimizer.step()
                doctor.step(loss)
            except Exception:
                if not swallow:
                    raise

    return train


def recipe_of(model: nn.Module) -> sickbay.Recipe:
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return sickbay.Recipe(model, nn.BCEWithLogitsLoss(), optimizer, epochs=1)


def test_a_loop_that_does_not_end_when_it_should() -> None:
    recipe = recipe_of(sick())
    outcome = sickbay.repair(recipe, train=looping(swallow=True), progress=False)
    assert outcome.attempts[0].result == "vanishing_gradient"


def test_a_loop_that_trains_something_else() -> None:
    told = refused(
        lambda: sickbay.repair(recipe_of(sick()), train=looping(other=True), progress=False)
    )
    assert "recipe.model by recipe.optimizer" in told
    assert "it was called 40 times, that optimizer made no step." in told
