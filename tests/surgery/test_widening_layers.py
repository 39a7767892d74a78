"""Hidden layers that become wider."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay import surgery
from sickbay.errors import Declined

X = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))
IMAGES = torch.randn(4, 1, 14, 14, generator=torch.Generator().manual_seed(0))


def shapes(model: nn.Module) -> list[tuple[int, ...]]:
    return [tuple(each.shape) for each in model.parameters() if each.ndim > 1]


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.second = (
            nn.Conv2d(1, 2, 3),
            nn.BatchNorm2d(2),
            nn.Conv2d(2, 4, 3),
        )
        self.hidden, self.last = nn.Linear(16, 5), nn.Linear(5, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
        x = F.max_pool2d(F.relu(self.second(x)), 2).flatten(1)
        out: Tensor = self.last(F.relu(self.hidden(x)))
        return out


class Recurrent(nn.Module):
    def __init__(self, kind: Any = nn.LSTM) -> None:
        super().__init__()
        self.words = nn.Embedding(10, 4)
        self.layer = kind(4, 3, batch_first=True, bidirectional=True)
        self.last = nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.last(self.layer(self.words(x))[0][:, -1])
        return out


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        pytest.param([nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1)], [(16, 3), (1, 16)], id="two"),
        pytest.param(
            [nn.Linear(3, 2), nn.LayerNorm(2), nn.Linear(2, 20), nn.Dropout(), nn.Linear(20, 1)],
            [(16, 3), (20, 16), (1, 20)], id="only-the-narrow-one",
        ),
        pytest.param(
            [nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)],
            [(16, 3), (16, 16), (1, 16)], id="several",
        ),
    ],
)  # fmt: skip
def test_chains(layers: list[nn.Module], expected: list[tuple[int, ...]]) -> None:
    assert shapes(surgery.widen_layers(nn.Sequential(*layers), (X,), 16, seed=0)) == expected


def test_convolutions() -> None:
    changed = surgery.widen_layers(Cnn(), (IMAGES,), 32, seed=0)
    assert shapes(changed) == [(32, 1, 3, 3), (32, 32, 3, 3), (32, 128), (10, 32)]


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_recurrent_layers(kind: Any) -> None:
    example = (torch.randint(10, (4, 7)),)
    changed: Any = surgery.widen_layers(Recurrent(kind), example, 16, seed=0)
    assert changed.layer.hidden_size == 16
    assert changed.last.in_features == 32


def test_weights_are_drawn_with_the_seed() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
    one, same, other = (surgery.widen_layers(model, (X,), 16, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(one(X), same(X))
    assert not torch.equal(one(X), other(X))
    assert torch.equal(one.get_parameter("4.weight"), model.get_parameter("4.weight"))
    assert one.get_parameter("0.weight").abs().max() <= 3**-0.5


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        out: Tensor = self.last(x + self.second(x).relu())
        return out


class WithFeatures(nn.Module):
    """A hidden layer that is an output too, next to one that is none."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(3, 2), nn.Linear(2, 4), nn.Linear(4, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = self.first(x).relu()
        return self.last(self.second(features).relu()), features


def test_an_output_keeps_its_width() -> None:
    changed = surgery.widen_layers(WithFeatures(), (X,), 16, seed=0)
    assert shapes(changed) == [(2, 3), (16, 2), (1, 16)]


def frozen() -> nn.Module:
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1))
    model[0].requires_grad_(False)
    return model


def tied() -> nn.Module:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
    model[2].weight = model[0].weight
    return model


@pytest.mark.parametrize("make", [Residual, frozen, tied, lambda: nn.Linear(3, 1)])
def test_what_is_left_alone(make: Any) -> None:
    with pytest.raises(Declined, match="no hidden layer of less than 16 units"):
        surgery.widen_layers(make(), (X,), 16, seed=0)


def test_a_bottleneck_may_be_the_purpose() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 3))
    with pytest.raises(Declined, match="may be meant to squeeze"):
        surgery.widen_layers(model, (X,), 16, seed=0)


def test_a_width_that_is_written_in_the_code() -> None:
    class Fixed(Cnn):
        def forward(self, x: Tensor) -> Tensor:
            x = F.max_pool2d(self.second(self.norm(self.first(x))), 5)
            out: Tensor = self.last(self.hidden(x.reshape(-1, 16)))
            return out

    with pytest.raises(Declined):
        surgery.widen_layers(Fixed(), (IMAGES,), 32, seed=0)


@pytest.mark.parametrize(
    "words", [nn.EmbeddingBag(10, 3, mode="sum", padding_idx=2), nn.Embedding(10, 3, padding_idx=2)]
)
def test_embeddings_become_wider(words: nn.Module) -> None:
    model = nn.Sequential(words, nn.Linear(3, 20), nn.ReLU(), nn.Linear(20, 2))
    made = surgery.widen_layers(model, (torch.ones(4, 7, dtype=torch.long),), 16, seed=0)
    assert shapes(made) == [(10, 16), (20, 16), (2, 20)]
    assert not made.get_parameter("0.weight")[2].any()
    assert getattr(made.get_submodule("0"), "mode", "sum") == "sum"
