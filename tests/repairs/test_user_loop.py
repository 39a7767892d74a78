"""Repairs around the user's own loop."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import sickbay
from sickbay.demo.flawed_models import circles
from tests.repairs.datasets import refused
from tests.repairs.test_fit import healthy, sick
from tests.repairs.user_loops import recipe_of, step


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
                step(recipe, doctor, x, y)
            recipe.model.eval()
            doctor.epoch(val_accuracy=accuracy(recipe.model, *held))

    outcome = sickbay.repair(recipe_of(sick(), epochs=20), train=train, progress=False)
    assert outcome.solved
    assert outcome.held_out is None
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
                step(recipe, doctor, points, labels)
            if told == "accuracy":
                doctor.epoch(accuracy=accuracy(recipe.model, points, labels))
            elif told == "odd":
                doctor.epoch(beauty=1.0)

    recipe = recipe_of(healthy(), rate=1e-2, epochs=8)
    outcome = sickbay.repair(recipe, train=train, progress=False)
    assert outcome.solved
    assert accuracy(outcome.model, points, labels) > 0.9


def test_what_a_loop_of_ones_own_raises_is_raised() -> None:
    def train(_recipe: sickbay.Recipe, _doctor: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sickbay.repair(recipe_of(healthy()), train=train, progress=False)


def test_neither_data_nor_a_loop() -> None:
    with pytest.raises(sickbay.UsageError, match="data, or train="):
        sickbay.repair(recipe_of(healthy()))


def test_a_loop_that_makes_no_step() -> None:
    with pytest.raises(sickbay.UsageError, match=r"it was called 0 times"):
        sickbay.repair(recipe_of(healthy()), train=lambda *_: None, progress=False)


def test_patience_is_carried_out() -> None:
    rates: list[float] = []

    def train(recipe: sickbay.Recipe, doctor: Any) -> None:
        for _ in range(6):
            step(recipe, doctor, torch.ones(4, 2), torch.ones(4, 1))
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


def test_a_model_with_nothing_to_train_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    recipe = recipe_of(healthy().requires_grad_(False))
    said = refused(lambda: sickbay.repair(recipe, train=print, chart=tmp_path / "run"))
    assert said == "model must have parameters that require a gradient, got none."
    assert not (tmp_path / "run").exists()


def drawn(seed: int) -> list[tuple[float, ...]]:
    """Return what a loop draws, attempt by attempt."""
    points, labels = circles(256)
    numbers: list[tuple[float, ...]] = []

    def train(recipe: sickbay.Recipe, doctor: Any) -> None:
        numbers.append((float(torch.rand(1)), float(np.random.rand()), random.random()))
        for _ in range(40):
            step(recipe, doctor, points, labels)
            doctor.epoch(val_accuracy=0.5)

    with torch.random.fork_rng(devices=[]):
        recipe = recipe_of(sick(), epochs=40)
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
        ({"train": lambda _: None}, "train must be a function of a recipe and a doctor"),
        ({"train": nn.Linear}, "train must be a function of a recipe and a doctor"),
        ({"train": 3}, "train must be a function of a recipe and a doctor, got 3."),
    ],
    ids=range(7),
)
def test_what_is_not_for_a_loop_of_ones_own(more: dict[str, Any], said: str) -> None:
    recipe = recipe_of(healthy())
    assert said in refused(lambda: sickbay.repair(recipe, **{"train": print, **more}))


def test_a_loop_that_does_not_end_when_it_should() -> None:
    points, labels = circles(256)

    def train(recipe: sickbay.Recipe, doctor: Any) -> None:
        for _ in range(40):
            with suppress(Exception):
                step(recipe, doctor, points, labels)

    outcome = sickbay.repair(recipe_of(sick(), epochs=1), train=train, progress=False)
    assert outcome.attempts[0].result == "vanishing_gradient"


def test_a_loop_that_trains_something_else() -> None:
    points, labels = circles(256)
    other = nn.Linear(2, 1)

    def train(recipe: sickbay.Recipe, doctor: Any) -> None:
        for _ in range(40):
            loss = recipe.loss(other(points), labels)
            loss.backward()  # type: ignore[no-untyped-call]
            doctor.step(loss)

    recipe = recipe_of(sick(), epochs=1)
    told = refused(lambda: sickbay.repair(recipe, train=train, progress=False))
    assert "recipe.model with recipe.optimizer" in told
    assert "it was called 40 times, and the optimizer made no step." in told
