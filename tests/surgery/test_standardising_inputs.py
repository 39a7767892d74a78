"""Inputs that are standardised inside the model."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay import surgery
from sickbay.errors import UsageError
from tests.surgery.models import Lstm, images, mlp, tokens


def test_inputs_are_standardised() -> None:
    x = 7 * torch.randn(50, 6) + 3
    mean, std = x.mean(0), x.std(0)
    model = mlp()
    result = surgery.standardise_inputs(model, mean, std)
    assert torch.allclose(result(x), model((x - mean) / std))
    state = result.state_dict()
    assert set(state) == {"mean", "std", *(f"model.{key}" for key in model.state_dict())}


def test_channels_of_images() -> None:
    x = images()[0] * 4 + 2
    mean, std = (each.view(3, 1, 1) for each in (x.mean((0, 2, 3)), x.std((0, 2, 3))))
    out = surgery.standardise_inputs(nn.Identity(), mean, std)(x)
    assert torch.allclose(out.mean((0, 2, 3)), torch.zeros(3), atol=1e-5)
    assert torch.allclose(out.std((0, 2, 3)), torch.ones(3), atol=1e-4)


def test_odd_values() -> None:
    model = surgery.standardise_inputs(
        nn.Identity(), torch.tensor([100.0, 5.0]), torch.tensor([1.0, 0.0]), clip=4
    )
    inf = torch.inf
    x = torch.tensor([[torch.nan, 5.0], [inf, 6.0], [-inf, 0.0], [1e30, 5.5]])
    assert model(x).tolist() == [[0, 0], [4, 1], [-4, -4], [4, 0.5]]
    assert model(x.double()).dtype == torch.float64


def test_integer_inputs_pass_unchanged() -> None:
    model = surgery.standardise_inputs(Lstm(), torch.tensor(1.0), torch.tensor(2.0))
    assert model(*tokens()).shape == (5, 7, 3)

    class Two(nn.Module):
        def forward(self, x: Tensor, y: Tensor, *, z: Tensor) -> Any:
            return x, y, z

    two = surgery.standardise_inputs(Two(), torch.tensor(1.0), torch.tensor(2.0))
    x, y, z = two(torch.tensor(3.0), torch.tensor(3.0), z=torch.tensor(4.0))
    assert (x.item(), y.item(), z.item()) == (1, 3, 4)


def test_the_mode_is_kept_and_the_buffers_are_copies() -> None:
    mean, std = torch.zeros(6), torch.ones(6)
    result: Any = surgery.standardise_inputs(mlp().eval(), mean, std)
    assert not result.training
    mean.fill_(9)
    std.fill_(9)
    assert result.mean.eq(0).all()
    assert result.std.eq(1).all()


@pytest.mark.parametrize(
    ("mean", "std", "clip", "words"),
    [
        (torch.nan, 1.0, 10.0, "mean must be finite, got"),
        (0.0, torch.inf, 10.0, "std must be finite, got"),
        (0.0, -1.0, 10.0, "std must be at least 0, got"),
        (0.0, 1.0, 0.0, "clip must be a finite number above 0, got"),
    ],
)
def test_wrong_numbers(mean: float, std: float, clip: float, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        surgery.standardise_inputs(nn.Identity(), torch.tensor(mean), torch.tensor(std), clip=clip)
