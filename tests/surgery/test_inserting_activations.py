"""Activations between layers that have none."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay import surgery
from sickbay.errors import Declined

X = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))


def followed(model: nn.Module, example: tuple[Any, ...] = (X,)) -> list[str]:
    """Return the modules that a ReLU was put behind."""
    changed = surgery.insert_activations(model, example)
    new = {n for n, each in changed.named_modules() if isinstance(each, nn.ReLU)}
    old = {n for n, each in model.named_modules() if isinstance(each, nn.ReLU)}
    return sorted(name.rpartition(".")[0] for name in new - old)


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        pytest.param([nn.Linear(3, 4), nn.Linear(4, 1)], ["0"], id="two"),
        pytest.param([nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 1)], ["0", "1"], id="three"),
        pytest.param(
            [nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4), nn.Linear(4, 1)], ["2"], id="one-of-them"
        ),
        pytest.param(
            [nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 1)],
            ["1"],
            id="behind-a-norm",
        ),
        pytest.param(
            [nn.Linear(3, 4), nn.Dropout(), nn.LayerNorm(4), nn.Linear(4, 1)],
            ["0"],
            id="dropout-first",
        ),
        pytest.param(
            [nn.Linear(3, 4), nn.Identity(), nn.Linear(4, 1), nn.Sigmoid()],
            ["0"],
            id="output-activation",
        ),
    ],
)
def test_chains(layers: list[nn.Module], expected: list[str]) -> None:
    model = nn.Sequential(*layers)
    assert followed(model) == expected
    assert followed_twice_is_declined(model)


def followed_twice_is_declined(model: nn.Module) -> bool:
    changed = surgery.insert_activations(model, (X,))
    with pytest.raises(Declined, match="activation between any two layers already"):
        surgery.insert_activations(changed, (X,))
    return True


def test_weights_stay() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)).eval()
    changed = surgery.insert_activations(model, (X,))
    expected = model[1](model[0](X).relu())
    assert torch.equal(changed(X), expected)


def test_images() -> None:
    layers = nn.Conv2d(1, 2, 3), nn.AvgPool2d(2), nn.Conv2d(2, 2, 3), nn.Flatten(), nn.Linear(32, 2)
    model = nn.Sequential(*layers)
    assert followed(model, (torch.randn(2, 1, 14, 14),)) == ["0", "2"]


class Forked(nn.Module):
    """A layer that an activation follows in one of two branches, and one that is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        x = self.second(x) + x.tanh()
        out: Tensor = self.last(self.second(x))
        return out


def test_a_layer_with_another_use_stays() -> None:
    with pytest.raises(Declined, match="already"):
        surgery.insert_activations(Forked(), (X,))


def test_a_shared_layer_is_followed_everywhere() -> None:
    layer = nn.Linear(3, 3)
    model = nn.Sequential(layer, layer, nn.Linear(3, 1))
    changed: Any = surgery.insert_activations(model, (X,))
    assert changed[0] is changed[1]
    assert torch.equal(changed(X), model[2](layer(layer(X).relu()).relu()))
