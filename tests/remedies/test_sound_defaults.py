"""Everything unusual at once, and nothing that is usual."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from sickbay.recipe import Recipe
from sickbay.remedies import Fitted, ScaledLoss, SoundDefaults
from sickbay.vitals import Setup
from tests.remedies.cases import FOUND, X, mlp, pasted, prescribed, recipe

Y = X[:, :1]


def usual(**settings: Any) -> Recipe:
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return recipe(model, nn.MSELoss(), Y, **{"optimizer": optimizer} | settings)


def test_nothing_is_unusual() -> None:
    assert SoundDefaults().prescribe(FOUND, usual()) is None


def adam(lr: float = 1e-3, weight_decay: float = 0.0, kind: Any = torch.optim.AdamW) -> Any:
    model = mlp()
    optimizer = kind(model.parameters(), lr=lr, weight_decay=weight_decay)
    return {"model": model, "optimizer": optimizer}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        pytest.param({"batch_size": 7}, "batch_size = 32", id="batch"),
        pytest.param({"clip_norm": 0.09}, "clip_norm = 0.1", id="clipping"),
        pytest.param(adam(lr=0.1), "optimizer = torch.optim.Adam", id="rate"),
        pytest.param(adam(weight_decay=0.1), "weight_decay = 0", id="decay"),
        pytest.param(
            adam(weight_decay=0.01, kind=torch.optim.Adam), "weight_decay = 0", id="penalty"
        ),
        pytest.param({"targets": 100 * Y}, "loss = sickbay.remedies.ScaledLoss", id="targets"),
        pytest.param(
            {"inputs": (torch.zeros(4), torch.full((4,), 5.1))}, "model = sickbay.surgery.stand",
            id="inputs",
        ),
    ],
)  # fmt: skip
def test_one_thing_is_unusual(changes: dict[str, Any], line: str) -> None:
    made = prescribed(SoundDefaults(), replace(usual(), **changes))
    assert made.code[-1].startswith(line)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"batch_size": 8}, id="batch"),
        pytest.param({"clip_norm": 0.1}, id="clipping"),
        pytest.param(adam(lr=0.003), id="rate"),
        pytest.param(adam(weight_decay=0.01), id="decay"),
        pytest.param({"targets": 4 * Y}, id="targets"),
        pytest.param({"inputs": (torch.full((4,), 5.0), torch.zeros(4))}, id="inputs"),
    ],
)
def test_at_the_limit(changes: dict[str, Any]) -> None:
    assert SoundDefaults().prescribe(FOUND, replace(usual(), **changes)) is None


def test_everything_is_unusual() -> None:
    torch.manual_seed(0)
    layers = nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.9), nn.Linear(8, 1), nn.Sigmoid()
    model = nn.Sequential(*layers)
    layers[0].requires_grad_(False)
    before = recipe(
        model, nn.MSELoss(), 1000 * Y, batch_size=1, clip_norm=1e-6,
        optimizer=torch.optim.SGD(layers[3].parameters(), lr=50.0, weight_decay=3.0),
        inputs=(torch.full((4,), 1e3), torch.full((4,), 1e2)),
    )  # fmt: skip
    made = prescribed(SoundDefaults(), before)
    assert isinstance(made.loss, ScaledLoss)
    assert isinstance(made.optimizer, torch.optim.Adam)
    assert made.optimizer.param_groups[0]["weight_decay"] == 0
    assert len(made.optimizer.param_groups[0]["params"]) == 4
    assert (made.batch_size, made.clip_norm, made.clean_data) == (32, 0.1, True)
    assert [each.p for each in made.model.modules() if isinstance(each, nn.Dropout)] == [0.5]
    outputs = made.model(1e2 * X + 1e3)
    assert outputs.std() > 10
    made.loss(outputs, 1000 * Y).backward()
    made.optimizer.step()


def test_a_loss_that_does_not_fit_is_replaced() -> None:
    labels = (X[:, 0] > 0).long()
    setup = Setup(task="multiclass", loss="mse", output_shape=(8, 2), target_shape=(8,))
    model = mlp(2, nn.Softmax(-1))
    before = recipe(model, nn.functional.mse_loss, labels, setup=setup)
    made = prescribed(SoundDefaults(), before)
    assert isinstance(made.loss, Fitted)
    assert isinstance(made.model.get_submodule("3"), nn.Identity)
    fitting = replace(
        before, setup=replace(setup, loss="cross_entropy"), loss=nn.CrossEntropyLoss()
    )
    made = prescribed(SoundDefaults(), fitting)
    assert isinstance(made.loss, nn.CrossEntropyLoss)
    assert isinstance(made.model.get_submodule("3"), nn.Identity)


def test_parameters_that_were_left_out_are_held() -> None:
    model = mlp()
    before = usual(optimizer=torch.optim.Adam(model[2].parameters(), lr=1e-3))
    made = prescribed(SoundDefaults(), replace(before, model=model))
    assert len(made.optimizer.param_groups[0]["params"]) == 4


def test_the_code_does_the_same() -> None:
    before = replace(usual(), targets=100 * Y, batch_size=1)
    made = prescribed(SoundDefaults(), before)
    model, loss = pasted(before, made)
    assert torch.equal(loss(model(X), 100 * Y), made.loss(made.model(X), 100 * Y))


def test_weights_of_classes_are_turned_around() -> None:
    setup = Setup(task="multiclass", loss="cross_entropy", output_shape=(8, 2), target_shape=(8,))
    loss, labels = nn.CrossEntropyLoss(torch.tensor([0.9, 0.1])), torch.tensor([0] * 90 + [1] * 10)
    made = prescribed(SoundDefaults(), recipe(mlp(2), loss, labels, setup=setup))
    assert isinstance(made.loss, nn.CrossEntropyLoss)
    assert made.loss.weight is not None
    assert made.loss.weight[1] > made.loss.weight[0]


def test_weights_that_start_too_large_are_drawn_anew() -> None:
    before = usual()
    with torch.no_grad():
        before.model.get_parameter("0.weight").mul_(20)
    made = prescribed(SoundDefaults(), before)
    assert made.model.get_parameter("0.weight").abs().max() < 2
