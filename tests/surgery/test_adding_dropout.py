"""Dropout is added where it belongs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from sickbay import surgery
from sickbay.errors import Declined, UsageError
from tests.surgery.models import (
    Encoder,
    Lstm,
    Plain,
    Shared,
    Unet,
    conv,
    images,
    mlp,
    outputs,
    tokens,
    vectors,
)


def drops(model: nn.Module) -> dict[str, tuple[str, float]]:
    return {
        name: (type(module).__name__, round(module.p, 6))
        for name, module in model.named_modules()
        if isinstance(module, nn.modules.dropout._DropoutNd)
    }


def test_after_each_hidden_activation() -> None:
    result = surgery.add_dropout(mlp(nn.ReLU, nn.Sigmoid()), vectors(), 0.2)
    assert drops(result) == {"1.1": ("Dropout", 0.2), "2.1.1": ("Dropout", 0.2)}
    assert isinstance(result[1][0], nn.ReLU)  # type: ignore[index]
    result = surgery.add_dropout(Unet(), images(), 0.2)
    assert set(drops(result).values()) == {("Dropout2d", 0.2)}
    assert len(drops(result)) == 3
    assert drops(surgery.add_dropout(Shared(), vectors(), 0.2)) == {"act.1": ("Dropout", 0.2)}


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_whole_channels_after_convolutions(dims: int) -> None:
    model, example = conv(dims), (torch.randn(4, 3, *[6] * dims),)
    model(*example)
    result = surgery.add_dropout(model, example, 0.4)
    assert set(drops(result).values()) == {(f"Dropout{dims}d", 0.4)}


def test_it_acts_in_training_only() -> None:
    example = vectors()
    model = mlp()
    result = surgery.add_dropout(model, example, 0.5)
    assert torch.equal(outputs(result, example), outputs(model, example))
    first, second = (result.train()(*example) for _ in range(2))
    assert not torch.equal(first, second)


def test_present_dropout_is_raised() -> None:
    model = nn.Sequential(
        nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.1), nn.Dropout(0.45), nn.Dropout(0.7)
    )
    result = surgery.add_dropout(model, vectors(), 0.2)
    assert [p for _, p in drops(result).values()] == [0.3, 0.5, 0.7]
    result = surgery.add_dropout(Encoder(), tokens(), 0.2)
    assert {p for _, p in drops(result).values()} == {0.3}
    with pytest.raises(Declined, match=r"0.5 or more already"):
        surgery.add_dropout(nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5)), vectors(), 0.2)


def test_dropout_as_a_function_is_raised() -> None:
    example = vectors()
    result = surgery.add_dropout(Plain(drop=0.1), example, 0.3)
    twin = Plain(drop=0.4)
    twin.load_state_dict(result.state_dict())
    for training in (True, False):
        assert torch.equal(
            outputs(result, example, training=training), outputs(twin, example, training=training)
        )
    assert not drops(result)


def test_a_dropout_of_the_users_own_is_raised_once() -> None:
    class Mine(nn.Dropout):
        pass

    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), Mine(0.1), nn.Linear(8, 3))
    assert drops(surgery.add_dropout(model, vectors(), 0.2)) == {"2": ("Mine", 0.3)}
    assert type(surgery.add_dropout(model, vectors(), 0.2)[2]) is Mine  # type: ignore[index]


def test_recurrent_layers() -> None:
    class Bare(nn.LSTM):
        def forward(self, x: Any, _hx: Any = None) -> Any:
            return super().forward(x)[0]

    example = (torch.randn(5, 7, 6),)
    result: Any = surgery.add_dropout(Bare(6, 4, 2), example, 0.2)
    assert result.dropout == 0.2
    result = surgery.add_dropout(Bare(6, 4, 2, dropout=0.2), example, 0.2)
    assert result.dropout == 0.4
    with pytest.raises(Declined, match="no hidden activation"):
        surgery.add_dropout(Bare(6, 4, 1), example, 0.2)
    result = surgery.add_dropout(Lstm(2), tokens(), 0.2)
    assert drops(result) == {"act.1": ("Dropout", 0.2)}
    assert result.core.dropout == 0


@pytest.mark.parametrize("p", [0, -0.1, 0.6, 1, True, float("nan")])
def test_a_wrong_p(p: float) -> None:
    with pytest.raises(UsageError, match=r"p must be a .*number above 0 and at most 0.5, got"):
        surgery.add_dropout(mlp(), vectors(), p)
