"""Losses that are finite for positive outputs only."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from sickbay.recipe import Loss
from sickbay.remedies import KeepOutputsPositive
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
