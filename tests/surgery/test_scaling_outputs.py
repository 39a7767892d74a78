"""Outputs that are scaled inside the model."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sickbay import surgery
from sickbay.errors import Declined
from tests.surgery.models import mlp, vectors


def test_outputs_are_scaled() -> None:
    model = mlp()
    result = surgery.scale_outputs(model, vectors(), 100.0, 5.0)
    x = torch.randn(20, 6)
    assert torch.allclose(result(x), 5 * model(x) + 100)
    state = result.state_dict()
    assert set(state) == {"mean", "std", *(f"model.{key}" for key in model.state_dict())}


def test_every_output_has_its_own_scale() -> None:
    model = mlp()
    mean, std = [1.0, 2.0, 3.0], torch.tensor([10.0, 0.0, 1.0])
    result = surgery.scale_outputs(model, vectors(), mean, std)
    x = torch.randn(20, 6)
    expected = model(x) * torch.tensor([10.0, 1.0, 1.0]) + torch.tensor(mean)
    assert torch.allclose(result(x), expected)


def test_the_type_of_the_outputs_is_kept() -> None:
    model = nn.Linear(6, 1).double()
    result = surgery.scale_outputs(model, (torch.ones(2, 6).double(),), 1.0, 2.0)
    assert result(torch.ones(2, 6).double()).dtype == torch.float64


def test_a_scale_that_does_not_fit_is_declined() -> None:
    with pytest.raises(Declined, match="changed model cannot be run"):
        surgery.scale_outputs(mlp(), vectors(), [1.0, 2.0], [1.0, 2.0])
    with pytest.raises(Declined, match=r"outputs \(2, 5, 3\) instead of \(5, 3\)"):
        surgery.scale_outputs(mlp(), vectors(), torch.ones(2, 1, 1), 1.0)


def test_outputs_that_are_no_numbers_are_declined() -> None:
    class Answer(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).argmax(1)

    with pytest.raises(Declined, match=r"real numbers, got one of torch\.int64"):
        surgery.scale_outputs(Answer(6, 3), vectors(), 1.0, 2.0)
