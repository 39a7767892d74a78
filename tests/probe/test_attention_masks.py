"""Attention that looks ahead, by the autograd graph."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from sickbay.probe.attention_masks import look_ahead

LENGTH = 6
MASK = nn.Transformer.generate_square_subsequent_mask(LENGTH)


def layer(x: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    made = nn.TransformerEncoderLayer(8, 2, 16, dropout=dropout, batch_first=True)
    out: Tensor = made(x, src_mask=mask)
    return out


def weights(x: Tensor, mask: Tensor | None) -> Tensor:
    out: Tensor = nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x, attn_mask=mask)[0]
    return out


def by_hand(x: Tensor, mask: Tensor | None) -> Tensor:
    scores = nn.Linear(8, 8)(x) @ x.transpose(1, 2) / 8**0.5
    if mask is not None:
        scores = scores.masked_fill(mask < 0, float("-inf"))
    attended: Tensor = scores.softmax(-1) @ x
    return attended


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("freed", [True, False])
@pytest.mark.parametrize(
    "attend",
    [
        pytest.param(lambda x, mask: layer(x, mask, 0.0), id="layer"),
        pytest.param(lambda x, mask: layer(x, mask, 0.1), id="dropout"),
        pytest.param(weights, id="with-weights"),
        pytest.param(by_hand, id="by-hand"),
    ],
)
def test_a_mask_is_seen(attend: Any, freed: bool, masked: bool) -> None:
    x = torch.randn(3, LENGTH, 8, requires_grad=True)
    out = attend(x, MASK if masked else None)
    if freed:
        out.sum().backward()
    assert look_ahead(out.grad_fn, LENGTH) is not masked
    assert not look_ahead(out.grad_fn, LENGTH + 1)


def test_one_mask_is_enough() -> None:
    x = torch.randn(3, LENGTH, 8, requires_grad=True)
    out = layer(layer(x, None, 0.0), MASK, 0.0)
    assert not look_ahead(out.grad_fn, LENGTH)


def test_a_model_without_attention() -> None:
    assert not look_ahead(nn.Linear(8, 8)(torch.randn(3, LENGTH, 8)).grad_fn, LENGTH)


def test_looking_for_a_mask_repeats_no_forward_pass() -> None:
    calls = []

    def body(x: Tensor) -> Tensor:
        calls.append(1)
        return functional.scaled_dot_product_attention(x, x, x, attn_mask=MASK)

    attended = checkpoint(body, torch.ones(2, 1, 6, 4, requires_grad=True), use_reentrant=False)
    assert not look_ahead(attended.grad_fn, 6)
    assert len(calls) == 1
