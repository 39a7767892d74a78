from dataclasses import replace
from math import nan
from typing import Any

import pytest
import torch
from torch import nn

from sickbay.recipe import Recipe
from sickbay.repairs.recipe_hooks import RecipeHooks


def recipe(**more: Any) -> Recipe:
    model = nn.Linear(2, 1, bias=False)
    nn.init.zeros_(model.weight)
    made = Recipe(model, nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=1.0))
    return replace(made, **more)


def step(made: Recipe, *gradient: float) -> list[float]:
    """Step with a gradient; return the weights."""
    weight = made.model.get_parameter("weight")
    weight.grad = torch.tensor([gradient])
    made.optimizer.step()
    return [float(each) for each in weight.detach()[0]]


def test_values_are_clipped() -> None:
    made = recipe(clip_value=2.0)
    RecipeHooks(made)
    assert step(made, 5.0, -1.0) == [-2.0, 1.0]


def test_the_norm_is_clipped() -> None:
    made = recipe(clip_norm=1.0)
    RecipeHooks(made)
    assert step(made, 30.0, 40.0) == pytest.approx([-0.6, -0.8], rel=1e-4)


def test_bad_batches_are_left_out() -> None:
    made = recipe(skip_bad_batches=True)
    RecipeHooks(made)
    assert step(made, nan, 1.0) == [0.0, 0.0]
    assert step(made, 1.0, 1.0) == [-1.0, -1.0]


def test_the_rate_is_warmed_up_and_the_schedule_is_not_touched() -> None:
    made = recipe(warmup=4)
    RecipeHooks(made)
    places = [step(made, -1.0, 0.0)[0] for _ in range(6)]
    assert places == pytest.approx([0.25, 0.75, 1.5, 2.5, 3.5, 4.5])
    assert made.lr == 1.0


def test_nothing_is_left_when_it_is_closed() -> None:
    made = recipe(clip_value=2.0, warmup=9)
    RecipeHooks(made).close()
    assert step(made, 5.0, 0.0) == [-5.0, 0.0]


def test_nothing_asked_nothing_done() -> None:
    made = recipe()
    RecipeHooks(made)
    assert step(made, 5.0, nan)[0] == -5.0
