"""Less dropout, whatever holds it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from sickbay import surgery
from sickbay.errors import Declined
from tests.surgery.models import Plain, outputs, vectors

X = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("p", "now", "expected"),
    [(0.0, 0.5, 0.0), (0.1, 0.9, 0.1), (0.1, 0.1, None), (0.2, 0.1, None), (0.0, 0.0, None)],
)
def test_layers(p: float, now: float, expected: float | None) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(now), nn.Linear(4, 1))
    if expected is None:
        with pytest.raises(Declined, match=f"dropout is {p:g} or less already"):
            surgery.lower_dropout(model, (X,), p)
    else:
        changed: Any = surgery.lower_dropout(model, (X,), p)
        assert changed[1].p == expected
        assert model[1].p == now


def test_functions() -> None:
    model = surgery.lower_dropout(Plain(drop=0.7), vectors())
    (x,) = vectors()
    model.train()
    assert torch.equal(model(x), model(x))
    assert torch.equal(outputs(model, (x,)), outputs(model, (x,), training=True))


def test_recurrent_layers_and_attention() -> None:
    lstm: Any = surgery.lower_dropout(
        nn.LSTM(3, 4, num_layers=2, dropout=0.6), (torch.ones(5, 2, 3),), 0.1
    )
    assert lstm.dropout == 0.1
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.5, batch_first=True)
    changed: Any = surgery.lower_dropout(layer, (torch.ones(2, 3, 4),))
    assert (changed.self_attn.dropout, changed.dropout1.p) == (0.0, 0.0)
