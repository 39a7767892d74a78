"""How many epochs a repair may take, and more if everything is small."""

from __future__ import annotations

import pytest
from torch import nn, optim

from sickbay.recipe import Recipe
from sickbay.repairs.autotrainer import AutoTrainer
from sickbay.repairs.budgets import budgets, small_budget
from sickbay.repairs.race import Race


def recipe(samples: int, model: nn.Module | None = None) -> Recipe:
    model = nn.Linear(9, 1) if model is None else model
    return Recipe(model, nn.MSELoss(), optim.SGD(model.parameters(), lr=0.1), samples=samples)


@pytest.mark.parametrize(
    ("samples", "model", "epochs", "expected"),
    [
        pytest.param(3200, nn.Linear(9, 1), 20, 60, id="steps"),
        pytest.param(20, nn.Linear(9, 1), 300, 6000, id="one-step-an-epoch"),
        pytest.param(20, nn.Linear(9, 1), 20, 800, id="trainings"),
        pytest.param(3200, nn.Linear(1000, 1000, bias=False), 20, 0.0625, id="many-weights"),
        pytest.param(3200, nn.Embedding(10_000, 100), 20, 0, id="no-other-weights"),
        pytest.param(0, nn.Linear(9, 1), 20, 0, id="unknown"),
    ],
)
def test_small_models(samples: int, model: nn.Module, epochs: int, expected: float) -> None:
    assert small_budget(recipe(samples, model), epochs) == expected


def test_embeddings_do_not_count() -> None:
    with_words = nn.Sequential(nn.Embedding(10_000, 9), nn.Linear(9, 1))
    assert small_budget(recipe(3200, with_words), 20) == small_budget(recipe(3200), 20)


def test_the_larger_budget_counts_unless_one_is_given() -> None:
    assert budgets(Race(), recipe(3200), 20, None) == (50, 120)
    assert budgets(Race(), recipe(320), 20, None) == (50, 600)
    assert budgets(Race(), recipe(320), 20, 7.0) == (7, 7)
    assert budgets(AutoTrainer(), recipe(320), 20, None) == (1000, 1000)
