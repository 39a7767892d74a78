"""Rewritten code does what the old code did, or the change is declined."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay import surgery
from sickbay.errors import Declined, UsageError
from tests.surgery import models
from tests.surgery.models import (
    InPlace,
    Optional,
    Plain,
    hidden_activations,
    mlp,
    outputs,
    same,
    vectors,
)


def test_on_code_that_was_rewritten_before() -> None:
    example = vectors()
    model = Plain(drop=0.4)
    result = surgery.insert_normalisation(model, example)
    result = surgery.add_dropout(result, example, 0.05)
    result = surgery.replace_activations(result, example, "tanh")
    assert set(hidden_activations(result, example).values()) == {"Tanh"}
    kinds = [type(module).__name__ for module in result.modules()]
    assert kinds.count("BatchNorm1d") == 2
    assert [each for each in result.state_dict() if "norm" not in each] == list(model.state_dict())
    assert type(result).__mro__[1] is Plain
    twin = Plain(torch.tanh, drop=0.45)
    twin.first = nn.Sequential(twin.first, nn.BatchNorm1d(8))  # type: ignore[assignment]
    twin.second = nn.Sequential(twin.second, nn.BatchNorm1d(8))  # type: ignore[assignment]
    names = {"first.0": "first", "first.1": "norm", "second.0": "second", "second.1": "norm_2"}
    names["last"] = "last"
    for layer, name in names.items():
        values = result.get_submodule(name).state_dict()
        twin.get_submodule(layer).load_state_dict(values)
    for training in (False, True):
        assert torch.allclose(
            outputs(result, example, training=training), outputs(twin, example, training=training)
        )


def test_dropout_in_rewritten_code_follows_the_mode() -> None:
    example = vectors()
    result = surgery.replace_activations(Plain(drop=0.5), example, "relu")
    assert same(result, Plain(F.relu, drop=0.5), example)
    first, second = (result.train()(*example) for _ in range(2))
    assert not torch.equal(first, second)
    first, second = (result.eval()(*example) for _ in range(2))
    assert torch.equal(first, second)


def test_written_in_place() -> None:
    example = vectors()
    result = surgery.replace_activations(InPlace(), example, "tanh")
    assert same(result, InPlace(replaced=True), example)
    model = nn.Sequential(nn.Linear(6, 3), nn.ReLU(inplace=True), nn.Linear(3, 3))
    assert surgery.replace_activations(model, example, "elu")[1].inplace  # type: ignore[index]


def test_buffers_in_rewritten_code_stay_buffers() -> None:
    class Buffered(nn.Linear):
        level: Tensor

        def forward(self, x: Tensor) -> Tensor:
            return torch.tanh(super().forward(x)) + self.level * 2

    layer = Buffered(6, 6)
    layer.register_buffer("level", torch.zeros(6))
    result: Any = surgery.replace_activations(layer, vectors(), "relu")
    assert result(*vectors()).min().item() >= 0
    result.level.fill_(50)
    assert result(*vectors()).min().item() >= 100


def test_arguments_that_were_left_out_must_stay_out() -> None:
    example = vectors()
    result = surgery.replace_activations(Optional(), example, "relu")
    assert result(example[0], None, twice=False).shape == (5, 3)
    with pytest.raises(ValueError, match="must be None after surgery"):
        result(example[0], torch.ones(5, 8))
    masked = (*example, torch.zeros(5, 8))
    result = surgery.replace_activations(Optional(), masked, "relu")
    assert torch.allclose(result(*masked), result.last.bias.expand(5, 3))  # type: ignore[union-attr, operator]


def test_an_argument_that_changes_and_decides_nothing() -> None:
    class Scaled(nn.Linear):
        def forward(self, x: Tensor, double: bool = False) -> Tensor:
            return torch.tanh(super().forward(x)) * (1 + double)

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Scaled(6, 6)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.inner(self.inner(x, True), False)
            return out

    model, (x,) = Outer(), vectors()
    model = nn.Sequential(model, nn.Linear(6, 3))  # type: ignore[assignment]
    result: Any = surgery.replace_activations(model, (x,), "relu")
    linear, last = result[0].inner, result[1]
    once = 2 * torch.relu(F.linear(x, linear.weight, linear.bias))
    expected = last(torch.relu(F.linear(once, linear.weight, linear.bias)))
    assert torch.allclose(result(x), expected)


class TestDeclined:
    def test_branches_on_values(self) -> None:
        model = nn.Sequential(nn.Identity(), models.Branching())
        with pytest.raises(Declined, match=r"'1' \(Branching\) cannot be traced"):
            surgery.replace_activations(model, vectors(), "relu")

    def test_writes_to_itself(self) -> None:
        with pytest.raises(Declined, match=r"The model \(Noting\) writes to itself"):
            surgery.replace_activations(models.Noting(), vectors(), "relu")

    def test_makes_random_tensors(self) -> None:
        noisy = Plain(lambda x: torch.tanh(x + torch.randn(8)))
        with pytest.raises(Declined, match="makes tensors of its own"):
            surgery.replace_activations(noisy, vectors(), "relu")

    def test_reads_the_clock(self) -> None:
        scales = iter(range(1, 1000))
        odd = Plain(lambda x: torch.tanh(x) * next(scales))
        odd.function = copy.copy(odd.function)
        with pytest.raises(
            Declined, match="The code of the model does something else when it is traced"
        ):
            surgery.replace_activations(odd, vectors(), "relu")

    def test_called_with_and_without_an_argument(self) -> None:
        class Outer(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = Optional()

            def forward(self, x: Tensor) -> Tensor:
                out: Tensor = self.inner(x, torch.ones(5, 8)) + self.inner(x)
                return out

        with pytest.raises(Declined, match="'inner' does something else when it is traced"):
            surgery.replace_activations(Outer(), vectors(), "relu")

    def test_nothing_to_do(self) -> None:
        with pytest.raises(Declined, match="relu already"):
            surgery.replace_activations(mlp(nn.ReLU), vectors(), "relu")
        with pytest.raises(UsageError, match="no activation 'rleu'; did you mean 'relu'"):
            surgery.replace_activations(mlp(), vectors(), "rleu")
