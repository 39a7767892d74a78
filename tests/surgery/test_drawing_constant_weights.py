"""Weights that are all the same are drawn anew."""

import torch
from torch import nn

from sickbay.surgery import draw_constant_weights


def test_the_vector_of_the_padding_stays_zero() -> None:
    layer = nn.Embedding(5, 3, padding_idx=0)
    nn.init.zeros_(layer.weight)
    drawn = draw_constant_weights(layer, seed=0)
    assert isinstance(drawn, nn.Embedding)
    assert not drawn.weight[0].any()
    assert bool(drawn.weight[1:].all())
    assert torch.equal(layer.weight, torch.zeros(5, 3))
