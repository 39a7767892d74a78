from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import checkup
from sickbay.checkups.statements import RunsOnTheBatch

X, Y = torch.randn(8, 4, generator=torch.Generator().manual_seed(0)), torch.arange(8) % 3


def of(weight: float) -> nn.Module:
    model = nn.Linear(4, 3)
    nn.init.constant_(model.weight, weight)
    return model


class Doubled(nn.Module):
    """Doubles in place what backward needs."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Any:
        hidden = self.one(x).sigmoid()
        return self.two(hidden) + hidden.mul_(2).sum(1, keepdim=True)


class Unready(nn.Linear):
    """Only works in training."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            raise NotImplementedError
        return super().forward(x)


def endless(_outputs: Tensor, _targets: Tensor) -> Tensor:
    return _outputs.sum() * float("inf")


@pytest.mark.parametrize(
    ("model", "batch", "loss", "message"),
    [
        pytest.param(
            nn.Linear(5, 3), (X, Y), None, "raised RuntimeError: mat1 and mat2", id="width"
        ),
        pytest.param(Doubled(), (X, Y), None, "was changed in place", id="in-place"),
        pytest.param(of(float("nan")), (X, Y), None, "contains NaN or Inf", id="nan"),
        pytest.param(of(0.1), (X, Y), endless, "the loss is", id="loss"),
        pytest.param(
            *(Unready(4, 3), (X, Y), nn.CrossEntropyLoss(), "in evaluation mode it raised"),
            id="evaluation",
        ),
        pytest.param(of(0.1), (X, Y + 2), None, "raised IndexError: Target 3", id="target"),
        pytest.param(nn.Embedding(4, 2), (Y + 2), None, "IndexError: index out of", id="token"),
    ],
)
def test_fails(model: nn.Module, batch: Any, loss: Any, message: str) -> None:
    result = checkup(model, batch, loss, tests=RunsOnTheBatch()).results[0]
    assert (result.outcome, result.severity) == ("failed", "critical")
    assert message in result.message


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        pytest.param(nn.Linear(4, 3), (X, Y), id="targets"),
        pytest.param(nn.Linear(4, 3), X, id="inputs"),
        pytest.param(nn.Linear(4, 3), None, id="nothing"),
        pytest.param(nn.Linear(4, 3), {"input": X}, id="by-name"),
        pytest.param(nn.Bilinear(4, 4, 3), ((X, X), Y), id="two-inputs"),
        pytest.param(nn.Linear(4, 3), (X.numpy(), Y.numpy()), id="arrays"),
    ],
)
def test_passes(model: nn.Module, batch: Any) -> None:
    result = checkup(model, batch, tests=RunsOnTheBatch()).results[0]
    assert result.outcome == "passed"
    assert "shape (8, 3)" in result.message


@pytest.mark.parametrize(("batch", "told"), [((X, Y), True), (X, False)])
def test_a_loss_is_only_told_if_there_is_one(batch: Any, told: bool) -> None:
    result = checkup(nn.Linear(4, 3), batch, tests=RunsOnTheBatch()).results[0]
    assert ("the loss is" in result.message) is told
