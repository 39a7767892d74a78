"""Outputs that a constant makes tiny."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies import UndoOutputScale
from sickbay.surgery import output_activation
from sickbay.vitals import Setup
from tests.remedies.cases import FOUND, X, mlp, pasted, recipe

COLD = Finding(problem="improper_output", step=70, evidence={"scale": 0.01})
Y = torch.arange(64) % 3


class Cold(nn.Module):
    def __init__(self, *after: nn.Module) -> None:
        super().__init__()
        self.body, self.after = mlp(3), nn.Sequential(*after)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.after(self.body(x) / 100)
        return outputs


def cold(loss: str, *after: nn.Module) -> Recipe:
    return recipe(Cold(*after), nn.CrossEntropyLoss(), Y, setup=Setup(loss=loss))


def test_the_factor_is_undone() -> None:
    given = cold("cross_entropy")
    made = UndoOutputScale().prescribe(COLD, given)
    assert made is not None
    assert torch.allclose(made.model(X), 100 * given.model(X), rtol=1e-4)
    assert torch.allclose(pasted(given, made)[0](X), made.model(X))


@pytest.mark.parametrize(
    ("loss", "activation", "expected"),
    [
        pytest.param("nll", nn.LogSoftmax(1), "log_softmax", id="needed"),
        pytest.param("cross_entropy", nn.LogSoftmax(1), "log_softmax", id="or-a-log-likelihood"),
        pytest.param("cross_entropy", nn.Softmax(1), "linear", id="doubled"),
        pytest.param("bce", nn.Sigmoid(), "sigmoid", id="sigmoid"),
    ],
)
def test_an_activation_stays_where_the_loss_needs_it(
    loss: str, activation: nn.Module, expected: str
) -> None:
    made = UndoOutputScale().prescribe(COLD, cold(loss, activation))
    assert made is not None
    assert output_activation(made.model, made.example) == expected
    logits = 100 * Cold()(X)
    wanted = logits if expected == "linear" else activation(logits)
    assert torch.allclose(made.model(X), wanted, rtol=1e-3, atol=1e-5)


def test_other_findings() -> None:
    assert UndoOutputScale().prescribe(FOUND, cold("cross_entropy")) is None
