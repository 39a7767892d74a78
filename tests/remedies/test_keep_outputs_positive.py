"""Losses that are finite for positive outputs only."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from sickbay.recipe import Loss
from sickbay.remedies import KeepOutputsPositive
from sickbay.remedies.keep_outputs_positive import columns_above_zero
from tests.remedies.cases import FOUND, X, mlp, pasted, recipe

COUNTS = (torch.arange(64.0) % 5)[:, None]


def log_error(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs.log() - (targets + 1).log()).square().mean()


@pytest.mark.parametrize(
    ("loss", "model", "helps"),
    [
        pytest.param(nn.PoissonNLLLoss(log_input=False), mlp(1), True, id="rates"),
        pytest.param(log_error, mlp(1), True, id="logarithms"),
        pytest.param(nn.PoissonNLLLoss(), mlp(1), False, id="logarithms-of-rates"),
        pytest.param(nn.MSELoss(), mlp(1), False, id="any-number"),
        pytest.param(log_error, mlp(1, nn.Sigmoid()), False, id="positive-already"),
        pytest.param(nn.CrossEntropyLoss(), mlp(3), False, id="other-shapes"),
    ],
)
def test_outputs_become_positive(loss: Loss, model: nn.Module, helps: bool) -> None:
    given = recipe(model, loss, COUNTS)
    made = KeepOutputsPositive().prescribe(FOUND, given)
    assert (made is not None) == helps
    if made is not None:
        assert bool((made.model(X) > 0).all())
        assert torch.equal(pasted(given, made)[0](X), made.model(X))


def gauss(outputs: Tensor, targets: Tensor) -> Tensor:
    mean, variance = outputs.chunk(2, 1)
    return (variance.log() + (targets - mean).square() / variance).mean()


class MeanAndVariance(nn.Module):
    def __init__(self, last: nn.Module) -> None:
        super().__init__()
        self.layer, self.last = mlp(2), last

    def forward(self, x: Tensor) -> Tensor:
        mean, variance = self.layer(x).chunk(2, 1)
        return torch.cat([mean, self.last(variance)], 1)


@pytest.mark.parametrize("last", [nn.Identity(), nn.ReLU()])
def test_a_variance_becomes_positive_and_the_mean_stays(last: nn.Module) -> None:
    model = MeanAndVariance(last)
    given = recipe(model, gauss, X[:, :1])
    assert not bool((model(X)[:, 1] > 0).all())
    made = KeepOutputsPositive().prescribe(FOUND, given)
    assert made is not None
    outputs = made.model(X)
    assert bool((outputs[:, 1] > 0).all())
    assert torch.equal(outputs[:, 0], model(X)[:, 0])
    assert torch.equal(pasted(given, made)[0](X), outputs)


def test_columns_are_tried_on_the_device_of_the_outputs() -> None:
    with torch.device("meta"):  # where a tensor lands that is made without saying where
        assert columns_above_zero(gauss, X[:, :2], X[:, :1]) == [1]
