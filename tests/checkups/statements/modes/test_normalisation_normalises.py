from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import checkup
from sickbay.checkups.statements.modes.normalisation_normalises import NormalisationNormalises
from tests.checkups.attention_models import mlp
from tests.checkups.sound_models import Residual, images, rows, series


class LayerNorm(nn.Module):
    """The one of the annotated transformer, with what may be done wrong."""

    def __init__(
        self, width: int = 5, dim: int = -1, power: float = 0.5, centre: bool = True
    ) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.rand(width)), nn.Parameter(torch.rand(width))
        self.dim, self.power, self.centre = dim, power, centre

    def forward(self, x: Tensor) -> Any:
        mean = x.mean(self.dim, keepdim=True)
        spread = (x.var(self.dim, keepdim=True) + 1e-5) ** self.power
        return self.weight * (x - mean if self.centre else x) / spread + self.bias


class RMSNorm(nn.Module):
    def __init__(self, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(5))
        self.small = eps

    def forward(self, x: Tensor) -> Any:
        return self.weight * x * (x.square().mean(-1, keepdim=True) + self.small).rsqrt()


class Scaled(LayerNorm):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Any:
        return self.factor * super().forward(x)


class UnitLength(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return nn.functional.normalize(x, dim=-1)


class Gate(nn.Module):
    """Scales its inputs by a function of their mean: not a norm layer."""

    def forward(self, x: Tensor) -> Any:
        return x * x.mean(-1, keepdim=True).sigmoid()


class Normalize(nn.Module):
    """Subtracts constants from its input: not a norm layer."""

    def forward(self, x: Tensor) -> Any:
        return (x - 0.5) / 0.2


class Frozen(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(16)
        self.body = mlp(self.norm)

    def train(self, mode: bool = True) -> "Frozen":
        super().train(mode)
        self.norm.eval()
        return self

    def forward(self, x: Tensor) -> Any:
        return self.body(x)


def of_series(norm: nn.Module) -> nn.Module:
    return nn.Sequential(norm, nn.Linear(5, 1))


@pytest.mark.parametrize(
    ("model", "batch", "message"),
    [
        pytest.param(mlp(nn.BatchNorm1d(16, momentum=1.0)), rows(), "momentum of 1", id="momentum"),
        pytest.param(
            mlp(nn.BatchNorm1d(16, momentum=0.0)), rows(), "momentum of 0", id="no-memory"
        ),
        pytest.param(mlp(nn.LayerNorm(16, eps=1.0)), rows(), "eps of 1", id="eps"),
        pytest.param(mlp(nn.GroupNorm(16, 16)), rows(), "single value", id="group-of-one"),
        pytest.param(
            nn.Sequential(nn.Linear(12, 1), nn.LayerNorm(1)), rows()[0], "single", id="layer-of-one"
        ),
        pytest.param(Frozen(), rows(), "stays in evaluation", id="never-trained"),
        pytest.param(of_series(LayerNorm(power=1)), series()[0], "by a square", id="variance"),
        pytest.param(of_series(LayerNorm(power=-0.5)), series()[0], "multiplies", id="multiplies"),
        pytest.param(of_series(LayerNorm(centre=False)), series()[0], "the mean", id="no-mean"),
        pytest.param(of_series(Scaled(100.0)), series()[0], "not 1", id="too-large"),
        pytest.param(of_series(RMSNorm(eps=0)), series()[0], "no eps", id="own-without-eps"),
    ],
)
def test_fails(model: nn.Module, batch: Any, message: str) -> None:
    result = checkup(model, batch, tests=NormalisationNormalises()).results[0]
    assert (result.outcome, result.severity) == ("failed", "warning")
    assert message in result.message
    assert result.layers


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        pytest.param(mlp(nn.BatchNorm1d(16, momentum=None)), rows(), id="cumulative"),
        pytest.param(mlp(nn.BatchNorm1d(16, eps=1e-3)), rows(), id="batch"),
        pytest.param(mlp(nn.GroupNorm(4, 16)), rows(), id="group"),
        pytest.param(Residual(), images(), id="zero-weight"),
        pytest.param(of_series(LayerNorm()), series()[0], id="own-layer-norm"),
        pytest.param(of_series(RMSNorm()), series()[0], id="own-rms-norm"),
        pytest.param(mlp(LayerNorm(16, dim=0)), rows(), id="own-batch-norm"),
        pytest.param(of_series(LayerNorm(dim=1)), series()[0], id="over-time"),
        pytest.param(of_series(UnitLength()), series()[0], id="length-one"),
    ],
)
def test_passes(model: nn.Module, batch: Any) -> None:
    assert checkup(model, batch, tests=NormalisationNormalises()).results[0].outcome == "passed"


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        pytest.param(mlp(), rows(), id="none"),
        pytest.param(of_series(Normalize()), series()[0], id="constants"),
        pytest.param(of_series(Gate()), series()[0], id="gate"),
        pytest.param(of_series(LayerNorm(power=0)), series()[0], id="only-subtracts-the-mean"),
    ],
)
def test_skips(model: nn.Module, batch: Any) -> None:
    assert checkup(model, batch, tests=NormalisationNormalises()).results[0].outcome == "skipped"
