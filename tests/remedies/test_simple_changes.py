"""Remedies that change a setting, or one part of the model."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from sickbay import remedies as r
from sickbay.errors import Declined
from sickbay.recipe import Recipe
from sickbay.remedies.odds import worth
from tests.remedies.cases import FOUND, X, mlp, pasted, prescribed, recipe

Y = X[:, :1]


def given(*layers: nn.Module, **settings: Any) -> Recipe:
    return recipe(nn.Sequential(*layers) if layers else mlp(), nn.MSELoss(), Y, **settings)


@pytest.mark.parametrize(("epochs", "expected"), [(None, None), (1, 3), (20, 60)])
def test_train_longer(epochs: int | None, expected: int | None) -> None:
    made = r.TrainLonger(factor=3).prescribe(FOUND, given(epochs=epochs))
    assert (made.epochs if made else None) == expected


@pytest.mark.parametrize("to", [0.0, 0.1])
def test_lower_dropout(to: float) -> None:
    before = given(nn.Linear(4, 8), nn.Dropout(0.9), nn.Dropout(0.05), nn.Linear(8, 1))
    made = prescribed(r.LowerDropout(to=to), before).model
    shares = [each.p for each in made.modules() if isinstance(each, nn.Dropout)]
    assert shares == [to, min(to, 0.05)]


def test_no_dropout_to_lower() -> None:
    with pytest.raises(Declined, match="dropout is 0 or less already"):
        r.LowerDropout().prescribe(FOUND, given())


@pytest.mark.parametrize(
    ("decay", "limit", "expected"),
    [
        pytest.param(0.5, 0.0, True, id="strong"),
        pytest.param(0.0, 0.0, False, id="none"),
        pytest.param(0.01, 0.01, False, id="at-the-limit"),
        pytest.param(0.02, 0.01, True, id="above-the-limit"),
    ],
)
def test_remove_weight_decay(decay: float, limit: float, expected: bool) -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=decay)
    before = recipe(model, nn.MSELoss(), Y, optimizer=optimizer)
    made = r.RemoveWeightDecay(limit=limit).prescribe(FOUND, before)
    assert (made is not None) is expected
    if made is not None:
        assert made.optimizer.param_groups[0]["weight_decay"] == 0
        assert before.optimizer.param_groups[0]["weight_decay"] == decay


def test_an_optimizer_without_weight_decay() -> None:
    model = mlp()
    before = recipe(model, nn.MSELoss(), Y, optimizer=torch.optim.LBFGS(model.parameters()))
    assert r.RemoveWeightDecay().prescribe(FOUND, before) is None


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, None),
        ({"clip_norm": 1e-4}, (1.0, None)),
        ({"clip_norm": 1.0}, None),
        ({"clip_norm": 5.0, "clip_value": 1e-3}, (5.0, 1.0)),
    ],
)
def test_loosen_clipping(settings: dict[str, float], expected: Any) -> None:
    made = r.LoosenClipping().prescribe(FOUND, given(**settings))
    assert (None if made is None else (made.clip_norm, made.clip_value)) == expected
    assert r.LoosenClipping().applies(given(**settings)) is (expected is not None)


def test_unfreeze_parameters() -> None:
    model = mlp()
    model[0].requires_grad_(False)
    part = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], lr=0.1)
    before = recipe(model, nn.MSELoss(), Y, optimizer=part)
    made = prescribed(r.UnfreezeParameters(), before)
    assert all(each.requires_grad for each in made.model.parameters())
    assert len(made.optimizer.param_groups[0]["params"]) == 4
    assert not any(each.requires_grad for each in model[0].parameters())
    assert r.UnfreezeParameters().prescribe(FOUND, made) is None
    assert all(each.requires_grad for each in pasted(before, made)[0].parameters())


def test_insert_activations() -> None:
    before = given(nn.Linear(4, 8), nn.Linear(8, 1))
    made = prescribed(r.InsertActivations(), before)
    assert any(isinstance(each, nn.ReLU) for each in made.model.modules())
    assert len(made.optimizer.param_groups[0]["params"]) == 4
    assert torch.equal(pasted(before, made)[0](X), made.model(X))


def test_widen_layers() -> None:
    before = given()
    made = prescribed(r.WidenLayers(to=32), before)
    assert [tuple(each.shape) for each in made.model.parameters()] == [
        (32, 4), (32,), (1, 32), (1,),
    ]  # fmt: skip
    assert torch.equal(pasted(before, made)[0](X), made.model(X))
    with pytest.raises(Declined, match="no hidden layer of less than 8 units"):
        r.WidenLayers(to=8).prescribe(FOUND, before)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (nn.MSELoss(reduction="sum"), True),
        (lambda outputs, targets: (outputs - targets).abs().sum(), True),
        (lambda outputs, targets: ((outputs - targets) ** 2).sum() / len(targets), False),
        (nn.MSELoss(), False),
        (nn.CrossEntropyLoss(), False),
    ],
)
def test_use_mean_loss(loss: Any, expected: bool) -> None:
    before = recipe(mlp(), loss, Y)
    made = r.UseMeanLoss().prescribe(FOUND, before)
    assert (made is not None) is expected
    if made is not None:
        outputs = made.model(X)
        mean = loss(outputs, Y).item() / 64
        assert made.loss(outputs, Y).item() == pytest.approx(mean)
        assert pasted(before, made)[1](outputs, Y).item() == pytest.approx(mean)
        assert r.UseMeanLoss().prescribe(FOUND, made) is None


def test_an_untried_remedy_for_what_the_recipe_shows_goes_first() -> None:
    assert worth("untried", r.ScaleTargets()) > worth("untried", r.SoundDefaults())
    assert worth("untried", r.LoosenClipping()) > worth("untried", r.ClipNorm())
