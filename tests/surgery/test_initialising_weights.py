"""New weights: their spread against the formulas."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay import surgery
from sickbay.errors import Declined, UsageError
from tests.surgery.models import Encoder, Lstm, mlp

# A kernel, and how many values go into an output and out of an input.
KERNELS: dict[str, tuple[nn.Module, float, float]] = {
    "linear": (nn.Linear(200, 100), 200, 100),
    "conv1d": (nn.Conv1d(40, 60, 5), 200, 300),
    "conv2d": (nn.Conv2d(20, 60, 3), 180, 540),
    "grouped": (nn.Conv2d(40, 80, 3, groups=4), 90, 180),
    "conv3d": (nn.Conv3d(10, 20, 3), 270, 540),
    "transposed": (nn.ConvTranspose2d(40, 60, 4, stride=2), 160, 960),
}
SCHEMES = [f"{rule}_{law}" for rule in ("he", "lecun", "glorot") for law in ("uniform", "normal")]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", KERNELS)
def test_the_spread_of_a_kernel(name: str, scheme: str) -> None:
    kernel, fan_in, fan_out = KERNELS[name]
    result: Any = surgery.initialise(kernel, scheme, seed=0)
    rule, law = scheme.split("_")
    variance = {"he": 2 / fan_in, "lecun": 1 / fan_in, "glorot": 2 / (fan_in + fan_out)}[rule]
    _has_spread(result.weight, variance, law)
    assert result.bias.abs().max().item() == 0


def _has_spread(weight: Tensor, variance: float, law: str) -> None:
    """Check mean, variance and tails, within five standard errors."""
    count = weight.numel()
    kurtosis = 1.8 if law == "uniform" else 3.0
    assert abs(weight.mean().item()) < 5 * (variance / count) ** 0.5
    assert weight.var().item() / variance == pytest.approx(
        1, abs=5 * ((kurtosis - 1) / count) ** 0.5
    )
    bound = (3 * variance) ** 0.5
    assert (weight.abs().max().item() <= bound * (1 + 1e-6)) is (law == "uniform")


def test_recurrent_layers() -> None:
    lstm: Any = surgery.initialise(nn.LSTM(100, 50, 2), "lecun_normal", seed=0)
    _has_spread(lstm.weight_ih_l0, 1 / 100, "normal")
    _has_spread(lstm.weight_ih_l1, 1 / 50, "normal")
    for gate in lstm.weight_hh_l1.chunk(4):
        assert torch.allclose(gate @ gate.T, torch.eye(50), atol=1e-5)
    ones = lstm.bias_ih_l0.detach()
    assert ones[50:100].eq(1).all()
    assert ones.sum().item() == 50
    assert lstm.bias_hh_l0.detach().abs().sum().item() == 0
    gru: Any = surgery.initialise(nn.GRUCell(30, 20), "glorot_uniform", seed=0)
    _has_spread(gru.weight_ih, 2 / 50, "uniform")
    for gate in gru.weight_hh.chunk(3):
        assert torch.allclose(gate @ gate.T, torch.eye(20), atol=1e-5)
    assert gru.bias_ih.detach().abs().sum().item() == 0
    rnn: Any = surgery.initialise(nn.RNN(30, 20), "he_normal", seed=0)
    assert torch.allclose(rnn.weight_hh_l0 @ rnn.weight_hh_l0.T, torch.eye(20), atol=1e-5)
    projected: Any = surgery.initialise(nn.LSTM(30, 20, proj_size=5), "he_normal", seed=0)
    assert projected.weight_hh_l0.shape == (80, 5)


def test_attention() -> None:
    layer: Any = surgery.initialise(nn.MultiheadAttention(64, 2), "glorot_normal", seed=0)
    _has_spread(layer.in_proj_weight, 1 / 64, "normal")
    _has_spread(layer.out_proj.weight, 1 / 64, "normal")
    encoder: Any = surgery.initialise(Encoder(), "he_normal", seed=0)
    assert encoder.body.layers[0].norm1.weight.eq(1).all()


def test_norms_start_anew_and_embeddings_stay() -> None:
    model: Any = nn.Sequential(
        nn.Embedding(5, 4), nn.Linear(4, 4), nn.BatchNorm1d(4), nn.LayerNorm(4)
    )
    model[2].weight.data.fill_(3)
    model[2].running_mean.fill_(3)
    model[3].bias.data.fill_(3)
    result: Any = surgery.initialise(model, "he_normal", seed=0)
    assert torch.equal(result[0].weight, model[0].weight)
    assert result[2].weight.eq(1).all()
    assert result[2].running_mean.eq(0).all()
    assert result[3].bias.eq(0).all()
    assert model[3].bias.eq(3).all()


def test_frozen_parameters_stay() -> None:
    model: Any = mlp()
    model[0].weight.requires_grad_(False)
    result: Any = surgery.initialise(model, "he_normal", seed=0)
    assert torch.equal(result[0].weight, model[0].weight)
    assert not torch.equal(result[3].weight, model[3].weight)
    norm: Any = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3).requires_grad_(False))
    norm[1].weight.data.fill_(3)
    assert surgery.initialise(norm, "he_normal", seed=0)[1].weight.eq(3).all()  # type: ignore[index]
    with pytest.raises(Declined, match="not frozen"):
        surgery.initialise(model.requires_grad_(False), "he_normal", seed=0)


def test_tied_weights_are_drawn_once() -> None:
    tied: Any = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4))
    tied[1].weight = tied[0].weight
    single = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    result: Any = surgery.initialise(tied, "he_normal", seed=0)
    expected: Any = surgery.initialise(single, "he_normal", seed=0)
    assert result[1].weight is result[0].weight
    assert torch.equal(result[0].weight, expected[0].weight)
    assert torch.equal(result[2].weight, expected[1].weight)


def test_the_seed_decides() -> None:
    model = Lstm()
    torch.manual_seed(1)
    first = surgery.initialise(model, "he_uniform", seed=5).state_dict()
    torch.manual_seed(2)
    second = surgery.initialise(model, "he_uniform", seed=5).state_dict()
    other = surgery.initialise(model, "he_uniform", seed=6).state_dict()
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert not torch.equal(first["head.weight"], other["head.weight"])


def test_half_precision() -> None:
    result: Any = surgery.initialise(nn.Linear(100, 100).half(), "he_normal", seed=0)
    assert result.weight.dtype == torch.float16
    assert result.weight.float().var().item() == pytest.approx(0.02, rel=0.1)


@pytest.mark.parametrize(
    "wrap",
    [
        nn.utils.parametrizations.weight_norm,
        nn.utils.parametrizations.spectral_norm,
        nn.utils.parametrizations.orthogonal,
        nn.utils.spectral_norm,
    ],
)
def test_computed_weights_are_declined(wrap: Any) -> None:
    with pytest.raises(Declined, match="'0' are computed from other parameters"):
        surgery.initialise(nn.Sequential(wrap(nn.Linear(4, 4))), "he_normal", seed=0)


def test_an_unknown_scheme() -> None:
    with pytest.raises(UsageError, match="did you mean 'he_normal'"):
        surgery.initialise(mlp(), "he_norml", seed=0)
