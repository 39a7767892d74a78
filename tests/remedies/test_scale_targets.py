"""Targets in any unit: the loss compares deviations, and the model predicts in that unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from sickbay.remedies import ChangeOutput, Fitted, ScaledLoss, ScaleTargets
from sickbay.surgery import output_activation
from sickbay.vitals import Setup
from tests.remedies.cases import FOUND, X, mlp, pasted, prescribed, recipe

SHAPE = X[:, :1] / X[:, :1].std(correction=0)
STANDARD = SHAPE - SHAPE.mean()


def own(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs - targets).abs().mean()


def relative(outputs: Tensor, targets: Tensor) -> Tensor:
    return ((outputs - targets) / targets).abs().mean()


@pytest.mark.parametrize(
    ("mean", "std", "expected"),
    [
        pytest.param(0.0, 1.0, False, id="standard"),
        pytest.param(0.0, 5.1, True, id="wide"),
        pytest.param(0.0, 4.9, False, id="within-the-limit"),
        pytest.param(5.1, 1.0, True, id="far"),
        pytest.param(-4.9, 1.0, False, id="not-far"),
        pytest.param(0.0, 0.19, True, id="narrow"),
        pytest.param(1e6, 1e5, True, id="any-scale"),
        pytest.param(3.0, 0.0, False, id="constant"),
    ],
)
def test_applies(mean: float, std: float, expected: bool) -> None:
    given = recipe(mlp(), nn.MSELoss(), std * STANDARD + mean)
    assert ScaleTargets().applies(given) is expected
    assert (ScaleTargets().prescribe(FOUND, given) is not None) is expected


@pytest.mark.parametrize("loss", [nn.MSELoss(), nn.functional.l1_loss, nn.HuberLoss(), own])
def test_predictions_are_in_the_units_of_the_targets(loss: Callable[..., Tensor]) -> None:
    targets = 1000 * STANDARD + 5000
    given = recipe(mlp(), loss, targets)
    made = prescribed(ScaleTargets(), given)
    outputs = made.model(X)
    assert torch.allclose(outputs, 1000 * given.model(X) + 5000, rtol=1e-3)
    expected = loss(given.model(X), STANDARD)
    assert made.loss(outputs, targets).item() == pytest.approx(expected.item(), rel=1e-3)
    assert ScaleTargets().prescribe(FOUND, made) is None
    model, pasted_loss = pasted(given, made)
    assert torch.equal(model(X), outputs)
    assert torch.equal(pasted_loss(model(X), targets), made.loss(outputs, targets))


@pytest.mark.parametrize("shape", [(64,), (64, 1)])
def test_a_missing_dimension_does_not_broadcast(shape: tuple[int, ...]) -> None:
    targets = (1000 * STANDARD).reshape(shape)
    made = prescribed(ScaleTargets(), recipe(mlp(), nn.MSELoss(), targets))
    expected = nn.functional.mse_loss(made.model(X), 1000 * STANDARD).item() / 1000**2
    assert made.loss(made.model(X), targets).item() == pytest.approx(expected, rel=1e-3)


def test_every_column_has_its_own_scale() -> None:
    targets = torch.cat([1000 * STANDARD, 0.001 * STANDARD + 1, STANDARD.mean() + 0 * STANDARD], 1)
    made = prescribed(ScaleTargets(), recipe(mlp(3), nn.MSELoss(), targets))
    assert isinstance(made.loss, ScaledLoss)
    assert made.loss.std.tolist() == pytest.approx([1000, 0.001, 1], rel=1e-3)
    assert made.model(X).shape == (64, 3)


def test_an_activation_at_the_end_would_cut_off_half_of_the_targets() -> None:
    given = recipe(mlp(1, nn.ReLU()), nn.MSELoss(), 100 * STANDARD)
    made = prescribed(ScaleTargets(), given)
    assert "replace_output(model, (x,), 'linear')" in made.code[0]
    assert (made.model(X) < 0).any()
    assert output_activation(made.model, made.example) == "linear"
    assert ChangeOutput().prescribe(FOUND, made) is None


def test_missing_targets_do_not_count() -> None:
    targets = 100 * STANDARD
    targets[3] = torch.nan
    made = prescribed(ScaleTargets(), recipe(mlp(), nn.MSELoss(), targets))
    assert made.model(X).isfinite().all()


@pytest.mark.parametrize("loss", [relative, nn.PoissonNLLLoss(), nn.CrossEntropyLoss()])
def test_a_loss_that_is_no_distance_would_mean_something_else(loss: Callable[..., Tensor]) -> None:
    assert ScaleTargets().prescribe(FOUND, recipe(mlp(), loss, 100 * STANDARD + 500)) is None


def test_the_shape_that_a_fitted_loss_has_found_is_kept() -> None:
    given = recipe(mlp(), Fitted(nn.L1Loss(), "values"), 100 * STANDARD)
    made = prescribed(ScaleTargets(), given)
    assert made.code[-1].startswith("loss = sickbay.remedies.ScaledLoss(nn.L1Loss(), ")


@pytest.mark.parametrize("task", ["binary", "multiclass", "multilabel", "next_token"])
def test_classes_have_no_scale(task: str) -> None:
    given = replace(recipe(mlp(), nn.MSELoss(), 100 * STANDARD), setup=Setup(task=task))
    assert ScaleTargets().prescribe(FOUND, given) is None


def test_the_loss_shows_what_it_compares() -> None:
    loss = ScaledLoss(nn.MSELoss(), 10.0, 2.0)
    outputs, targets = loss.compared(torch.tensor([[12.0]]), torch.tensor([6.0]))
    assert (outputs.tolist(), targets.tolist()) == ([[1.0]], [[-2.0]])
    assert loss.fit(torch.ones(1, 1), torch.tensor([6.0])).tolist() == [[6.0]]
