from collections.abc import Callable
from math import inf, nan

import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.data.inputs_are_sane import InputsAreSane
from tests.checkups import trainable_models as models

X = torch.randn(32, 8, generator=torch.Generator().manual_seed(0))


def examined(model: nn.Module, batch: object) -> Result:
    [result] = checkup(model, batch, tests=InputsAreSane()).results
    return result


@pytest.mark.parametrize("kind", models.KINDS)
def test_sound_models_have_sane_inputs(kind: Callable[[], models.Made]) -> None:
    model, batch, _ = kind()
    assert examined(model, batch).outcome == "passed"


def with_one(value: float) -> Tensor:
    changed = X.clone()
    changed[3, 2] = value
    return changed


@pytest.mark.parametrize(
    ("x", "message"),
    [
        pytest.param(with_one(nan), "NaN or Inf", id="nan"),
        pytest.param(with_one(inf), "NaN or Inf", id="inf"),
        pytest.param(127 + 60 * X, "limits 0.001 to 30", id="bytes"),
        pytest.param(1e-5 * X, "limits 0.001 to 30", id="tiny"),
        pytest.param(X[:1].repeat(32, 1), "all 32 samples are equal", id="one-sample"),
        pytest.param(
            torch.cat([X[:, :1] * 60, X[:, 1:] * 0.01], 1),
            "standard deviations of columns range",
            id="wide-column",
        ),
        pytest.param(
            torch.cat([X, torch.full((32, 1), 7.0)], 1),
            "1 of 9 columns are always 7",
            id="still",
        ),
    ],
)
def test_fails(x: Tensor, message: str) -> None:
    result = examined(nn.Linear(x.shape[1], 3), x)
    assert result.outcome == "failed"
    assert message in result.message


class Scaling(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x / 255)
        return out


@pytest.mark.parametrize(
    ("model", "x"),
    [
        pytest.param(Scaling(), 255 * X.abs(), id="scaled-by-the-model"),
        pytest.param(nn.Sequential(nn.BatchNorm1d(8), nn.Linear(8, 3)), 255 * X, id="normalised"),
        pytest.param(nn.Linear(8, 3), torch.eye(8).repeat(4, 1), id="one-hot"),
        pytest.param(nn.Linear(99, 3), torch.cat([X, torch.zeros(32, 91)], 1), id="sparse"),
        pytest.param(nn.Linear(8, 3), torch.cat([X[:, 1:], torch.ones(32, 1)], 1), id="a-bias"),
        pytest.param(
            nn.Linear(20, 3), torch.cat([X, torch.full((32, 12), -0.42)], 1), id="a-border"
        ),
        pytest.param(nn.Linear(8, 3), X * torch.logspace(-4, 0, 8), id="narrow-columns"),
    ],
)
def test_passes(model: nn.Module, x: Tensor) -> None:
    result = examined(model, x)
    assert result.outcome == "passed", result.message


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        scores: Tensor = self.layer(x) @ x.transpose(0, 1) + mask
        return scores.softmax(-1)


def test_a_mask_may_hold_infinity() -> None:
    mask = torch.zeros(32, 32).index_fill(1, torch.tensor([3]), -inf)
    [result] = checkup(Masked(), (X, mask, X), tests=InputsAreSane()).results
    assert "NaN" not in result.message


def test_other_inputs_must_not_hold_infinity() -> None:
    [result] = checkup(Masked(), (X, torch.full((32, 32), inf), X), tests=InputsAreSane()).results
    assert "NaN or Inf" in result.message


def test_skips_synthetic_inputs() -> None:
    assert examined(nn.Linear(8, 3), None).message == "no batch was given"


@pytest.mark.parametrize(("token", "outcome"), [(19, "passed"), (20, "failed")])
def test_unknown_tokens_are_also_found_in_samples_that_are_not_run(
    token: int, outcome: str
) -> None:
    tokens = torch.arange(64 * 6).reshape(64, 6) % 19
    tokens[50, 3] = token
    model = nn.Sequential(nn.Embedding(20, 4), nn.Linear(4, 2))
    report = checkup(model, tokens, tests=["runs_on_the_batch", "inputs_are_sane"])
    result = report["inputs_are_sane"]
    assert result.outcome == outcome
    assert outcome == "passed" or result.severity == "critical"
    assert report["runs_on_the_batch"].outcome == "passed"
