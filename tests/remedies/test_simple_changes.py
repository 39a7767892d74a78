"""Remedies that change a setting, or one part of the model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay import remedies as r
from sickbay.errors import Declined
from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies.mean_loss import sums
from sickbay.remedies.odds import worth
from sickbay.remedies.scaled_loss import is_distance
from sickbay.vitals import Setup
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


def test_the_decay_that_adamw_comes_with_stays() -> None:
    model = mlp()
    usual, strong = (torch.optim.AdamW(model.parameters(), weight_decay=d) for d in (0.01, 0.1))
    assert not r.RemoveWeightDecay().applies(recipe(model, nn.MSELoss(), Y, optimizer=usual))
    assert r.RemoveWeightDecay().applies(recipe(model, nn.MSELoss(), Y, optimizer=strong))


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


def test_a_mean_loss_is_inside_of_one_that_fits_the_targets() -> None:
    scaled = r.ScaledLoss(nn.MSELoss(reduction="sum"), 0.0, 2.0)
    before = recipe(mlp(), scaled, Y)
    made = r.UseMeanLoss().prescribe(FOUND, before)
    assert made is not None
    assert isinstance(made.loss, r.ScaledLoss)
    outputs = made.model(X)
    mean = scaled(outputs, Y).item() / 64
    assert made.loss(outputs, Y).item() == pytest.approx(mean)
    assert pasted(before, made)[1](outputs, Y).item() == pytest.approx(mean)
    assert not r.UseMeanLoss().applies(made)


@pytest.mark.parametrize("asked", [sums, is_distance])
def test_a_loss_is_tried_without_a_trace(asked: Callable[..., bool]) -> None:
    seen: list[int] = []
    assert asked(partial(_kept, seen), mlp()(X), Y) in (True, False)
    assert seen == []


def _kept(seen: list[int], outputs: Tensor, targets: Tensor) -> Tensor:
    seen.append(len(outputs))
    return (outputs - targets).square().sum()


def test_an_untried_remedy_for_what_the_recipe_shows_goes_first() -> None:
    assert worth("untried", r.ScaleTargets()) > worth("untried", r.SoundDefaults())
    assert worth("untried", r.LoosenClipping()) > worth("untried", r.ClipNorm())


@pytest.mark.parametrize(
    ("samples", "size", "epochs", "expected"),
    [
        pytest.param(1350, 1, 1, 12, id="enough-steps"),  # 43 in an epoch
        pytest.param(160, 16, 4, 8, id="as-many-steps-as-before"),
        pytest.param(64_000, 1, 1, 1, id="enough-in-one-epoch"),
        pytest.param(1350, 1, 20, 20, id="enough-anyway"),
        pytest.param(0, 1, 1, 1, id="unknown"),
        pytest.param(1350, 1, None, None, id="no-epochs"),
    ],
)
@pytest.mark.parametrize("remedy", [r.EnlargeBatch(), r.SetBatchSize(to=32)])
def test_larger_batches_leave_enough_steps(
    remedy: r.Remedy, samples: int, size: int, epochs: int | None, expected: int | None
) -> None:
    made = prescribed(remedy, given(batch_size=size, epochs=epochs, samples=samples))
    assert (made.batch_size, made.epochs) == (32, expected)
    assert (f"epochs = {expected}" in made.code) is (epochs != expected)


def likelihood(outputs: Tensor, targets: Tensor) -> Tensor:
    return -(outputs - targets).square().mean()


SIGN = Finding(problem="improper_loss", step=1, message="it falls, as with the wrong sign")


@pytest.mark.parametrize(
    ("finding", "facts", "expected"),
    [
        pytest.param(SIGN, {}, True, id="it-says-so"),
        pytest.param(FOUND, {"wrong_sign": True}, True, id="it-was-called"),
        pytest.param(FOUND, {}, False, id="something-else"),
    ],
)
def test_negate_loss(finding: Finding, facts: dict[str, Any], expected: bool) -> None:
    before = recipe(mlp(), likelihood, Y, setup=Setup(**facts))
    made = r.NegateLoss().prescribe(finding, before)
    assert (made is not None) is expected
    if made is not None:
        assert made.loss(torch.zeros(2), torch.ones(2)) == 1
        assert pasted(before, made)[1](torch.zeros(2), torch.ones(2)) == 1
        assert r.NegateLoss().prescribe(finding, made) is None
