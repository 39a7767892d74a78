"""Remedies that mend what the model itself shows to be wrong."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay.errors import Declined
from sickbay.recipe import Recipe
from sickbay.remedies import DrawConstantWeights, RegisterModules, WidenBottleneck
from tests.remedies.cases import FOUND, X, mlp, prescribed, recipe

Y = torch.zeros(64, 1)


class Listed(nn.Module):
    """A model with a layer where torch does not look, and one where it does."""

    def __init__(self, kept: Any) -> None:
        super().__init__()
        self.kept, self.last = kept, nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Tensor:
        first = self.kept["first"] if isinstance(self.kept, dict | nn.ModuleDict) else self.kept[0]
        outputs: Tensor = self.last(first(x))
        return outputs


@pytest.mark.parametrize("kind", [list, tuple, dict])
def test_hidden_modules_are_registered_and_held_by_the_optimizer(kind: type) -> None:
    layer = nn.Linear(4, 3)
    model = Listed({"first": layer} if kind is dict else kind([layer]))
    made = prescribed(RegisterModules(), recipe(model, nn.MSELoss(), Y))
    assert len(list(made.model.parameters())) == 4
    assert len(made.optimizer.param_groups[0]["params"]) == 4
    assert torch.equal(made.model(X), model(X))
    assert len(list(model.parameters())) == 2


def test_a_model_without_hidden_modules_is_left_alone() -> None:
    model: Any = mlp()
    model.sizes = [3, 4]
    assert RegisterModules().prescribe(FOUND, recipe(model, nn.MSELoss(), Y)) is None


def test_weights_that_are_all_the_same_are_drawn() -> None:
    model: Any = mlp()
    nn.init.constant_(model[0].weight, 0.5)
    kept = model[2].weight.clone()
    drawn: Any = prescribed(DrawConstantWeights(), recipe(model, nn.MSELoss(), Y)).model
    assert drawn[0].weight.std() > 0
    assert torch.equal(drawn[2].weight, kept)


def test_vectors_of_zeros_are_drawn_about_1_long() -> None:
    table = nn.Embedding(500, 8)
    nn.init.zeros_(table.weight)
    drawn: Any = prescribed(DrawConstantWeights(), embedded(table)).model
    assert 0.8 < drawn[0].weight.norm(dim=1).mean() < 1.2


@pytest.mark.parametrize("case", ["varied", "single-unit", "frozen"])
def test_other_weights_stay(case: str) -> None:
    table = nn.Embedding(9, 1 if case == "single-unit" else 8)
    if case != "varied":
        nn.init.zeros_(table.weight)
    table.requires_grad_(case != "frozen")
    assert DrawConstantWeights().prescribe(FOUND, embedded(table)) is None


def test_a_bottleneck_is_widened_where_other_layers_would_be_left() -> None:
    model = nn.Sequential(nn.Linear(4, 32), nn.ELU(), nn.Linear(32, 1), nn.Linear(1, 4))
    given = recipe(model, nn.MSELoss(), X)
    made = prescribed(WidenBottleneck(to=16), given)
    wider: Any = made.model
    assert [wider[0].out_features, wider[2].out_features] == [32, 16]
    with pytest.raises(Declined, match="less than 16"):
        WidenBottleneck(to=16).prescribe(FOUND, made)


def embedded(table: nn.Embedding) -> Recipe:
    model = nn.Sequential(table, nn.Flatten(), nn.Linear(2 * table.embedding_dim, 1))
    rows = torch.zeros(8, 2, dtype=torch.long)
    sound = recipe(mlp(), nn.MSELoss(), Y)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return sound.but(model=model, optimizer=optimizer, example=(rows,))
