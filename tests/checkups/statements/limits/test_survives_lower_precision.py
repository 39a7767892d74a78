from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import checkup
from sickbay.checkups.statements.limits.survives_lower_precision import SurvivesLowerPrecision
from tests.checkups.attention_models import GPT, Attention, mlp, tokens
from tests.checkups.sound_models import Residual, images, rows


class Billion(Attention):
    def masked(self, scores: Tensor) -> Tensor:
        length = scores.shape[-1]
        return scores.masked_fill(~self.mask[:length, :length], -1e9)


class Through(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.one, self.two, self.function = nn.Linear(12, 16), nn.Linear(16, 3), function

    def forward(self, x: Tensor) -> Any:
        return self.two(self.function(self.one(x)))


class Encoder(nn.Module):
    """torch's own, in evaluation on a short cut that knows no autocast."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 16, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 1)

    def forward(self, x: Tensor, src_key_padding_mask: Tensor) -> Any:
        return self.body(x, src_key_padding_mask=src_key_padding_mask)


def put(x: Tensor) -> Tensor:
    out = torch.zeros(x.shape)
    out[torch.arange(len(x))] = x
    return out


def drawn(x: Tensor) -> Tensor:
    """Noise by a chance of its own, which no seed repeats."""
    return torch.from_numpy(np.random.default_rng().standard_normal(x.shape)).to(x)


PLAIN = torch.randn(6, 8, 16)


@pytest.mark.parametrize(
    ("model", "batch", "message"),
    [
        pytest.param(GPT(Billion), tokens(), "float16 raises", id="mask-of-a-billion"),
        pytest.param(Through(lambda x: x * 1e6), rows(), "float16 contains", id="above-the-range"),
        pytest.param(
            Through(lambda x: (x - x) / (x - x + 1e-9)), rows(), "NaN or Inf", id="eps-below-it"
        ),
        pytest.param(
            Through(lambda x: x / (x * 300).square().sum(1, keepdim=True) * 1e7),
            rows(),
            "float16 differs",
            id="squares-above-the-range",
        ),
        pytest.param(Through(put), rows(), "bfloat16 raises", id="kinds-that-clash"),
        pytest.param(
            Through(lambda x: (x * 9 + 3000) - 3000), rows(), "float16 differs", id="cancelled"
        ),
    ],
)
def test_fails(model: nn.Module, batch: Any, message: str) -> None:
    result = checkup(model, batch, tests=SurvivesLowerPrecision()).results[0]
    assert (result.outcome, result.severity) == ("failed", "warning")
    assert message in result.message


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        pytest.param(mlp(nn.BatchNorm1d(16)), rows(), id="mlp"),
        pytest.param(Residual(), images(), id="residual"),
        pytest.param(GPT(), tokens(), id="gpt"),
        pytest.param(Through(drawn), rows()[0], id="random"),
        pytest.param(
            Encoder(), (torch.randn(6, 8, 16), torch.zeros(6, 8).bool(), PLAIN), id="of-torch"
        ),
    ],
)
def test_passes(model: nn.Module, batch: Any) -> None:
    assert checkup(model, batch, tests=SurvivesLowerPrecision()).results[0].outcome == "passed"


def test_a_model_of_another_kind_is_skipped() -> None:
    batch = (rows()[0].double(), rows()[1])
    assert checkup(mlp().double(), batch, tests=SurvivesLowerPrecision()).skipped


class Growing(nn.Module):
    """Residual blocks whose outputs grow until the statistics of their norms have settled."""

    def __init__(self, momentum: float) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(12, 12), nn.BatchNorm1d(12, momentum=momentum))
            for _ in range(14)
        )
        for weight in self.parameters():
            if weight.ndim > 1:
                nn.init.normal_(weight)

    def forward(self, x: Tensor) -> Any:
        for block in self.blocks:
            x = x + block(x)
        return x


@pytest.mark.parametrize("momentum", [0.1, 1e-10])
def test_batch_norm_settles_first(momentum: float) -> None:
    assert checkup(Growing(momentum), rows()[0], tests=SurvivesLowerPrecision()).passed


class Casting(nn.Module):
    """Sets autocast itself, with a cache of weights in lower precision."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(12, 3)

    def forward(self, x: Tensor) -> Any:
        torch.set_autocast_cache_enabled(True)
        return self.layer(x)


def test_no_weights_are_kept_from_one_precision_to_the_next() -> None:
    report = checkup(Casting(), rows()[0], tests=SurvivesLowerPrecision())
    assert "bfloat16 and float16" in report.passed[0].message


class WrongForOthers(nn.Module):
    """Fifty times too large in lower precision, but for the first sample."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(12, 3)

    def forward(self, x: Tensor) -> Any:
        out = self.layer(x)
        if out.dtype == torch.float32:
            return out
        return torch.cat([out[:1], 50 * out[1:]])


def test_one_wrong_sample_of_two_is_enough() -> None:
    torch.manual_seed(0)
    result = checkup(WrongForOthers(), rows()[0], tests=SurvivesLowerPrecision()).results[0]
    assert result.outcome == "failed"
    assert "float16 differs by" in result.message


class NearlyZero(WrongForOthers):
    """Gives the first sample a small output, of which rounding changes much."""

    def forward(self, x: Tensor) -> Any:
        out = self.layer(x)
        usual = out.float() * (1 + (out.dtype != torch.float32) * 1e-3)
        return torch.cat([usual[:1] * 1e-3 + (out.dtype != torch.float32) * 1e-3, usual[1:]])


def test_a_small_output_may_be_rounded() -> None:
    torch.manual_seed(0)
    result = checkup(NearlyZero(), rows()[0], tests=SurvivesLowerPrecision()).results[0]
    assert result.outcome == "passed", result.message
