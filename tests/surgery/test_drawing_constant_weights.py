"""Weights that are all the same are drawn anew."""

import pytest
import torch
from torch import nn

from sickbay.errors import Needless
from sickbay.surgery import draw_constant_weights


def test_the_vector_of_the_padding_stays_zero() -> None:
    layer = nn.Embedding(5, 3, padding_idx=0)
    nn.init.zeros_(layer.weight)
    drawn = draw_constant_weights(layer, seed=0)
    assert isinstance(drawn, nn.Embedding)
    assert not drawn.weight[0].any()
    assert bool(drawn.weight[1:].all())
    assert torch.equal(layer.weight, torch.zeros(5, 3))


class LowRank(nn.Module):
    """An addition of low rank."""

    def __init__(self, first: torch.Tensor) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(first), nn.Parameter(torch.zeros(3, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.a.T @ self.b.T


def test_of_two_matrices_of_zeros_the_first_is_drawn() -> None:
    drawn = draw_constant_weights(LowRank(torch.zeros(2, 4)), seed=0)
    assert isinstance(drawn, LowRank)
    assert bool(drawn.a.all())
    assert not drawn.b.any()


def test_one_matrix_of_zeros_beside_another_is_usual() -> None:
    with pytest.raises(Needless):
        draw_constant_weights(LowRank(torch.rand(2, 4)), seed=0)
