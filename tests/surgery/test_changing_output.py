"""Changing the activation and the width of the output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from benchmarks.overhead.workloads import GPT
from sickbay import surgery
from sickbay.errors import Declined, UsageError
from tests.surgery.models import (
    Plain,
    Shared,
    Twofold,
    Unet,
    hidden_activations,
    images,
    mlp,
    outputs,
    tokens,
    vectors,
)

ENDS: dict[str, tuple[nn.Module, Callable[[Tensor], Tensor]]] = {
    "sigmoid": (nn.Sigmoid(), torch.sigmoid),
    "softmax": (nn.Softmax(-1), lambda x: x.softmax(-1)),
    "log_softmax": (nn.LogSoftmax(-1), lambda x: torch.log_softmax(x, -1)),
    "tanh": (nn.Tanh(), torch.tanh),
    "relu": (nn.ReLU(), torch.relu),
    "clamp": (nn.Hardtanh(0, 1), lambda x: x.clamp(0, 1)),
}


@pytest.mark.parametrize("to", ["linear", "sigmoid", "softmax", "log_softmax", "tanh"])
@pytest.mark.parametrize("old", ["linear", *ENDS])
@pytest.mark.parametrize("as_function", [False, True])
def test_every_pair_of_output_activations(old: str, to: str, as_function: bool) -> None:
    example = vectors()
    if as_function:
        model: nn.Module = Plain(torch.tanh, out=ENDS[old][1] if old in ENDS else lambda x: x)
        plain: nn.Module = Plain(torch.tanh)
    else:
        model = mlp(nn.Sigmoid, *([ENDS[old][0]] if old in ENDS else []))
        plain = mlp()
    assert surgery.output_activation(model, example) == old
    if old == to:
        with pytest.raises(Declined, match=f"{to} already"):
            surgery.replace_output(model, example, to)
        return
    result = surgery.replace_output(model, example, to)
    assert surgery.output_activation(result, example) == to
    plain.load_state_dict(model.state_dict())
    expected = outputs(plain, example)
    expected = expected if to == "linear" else ENDS[to][1](expected)
    assert torch.allclose(outputs(result, example), expected)
    if not as_function:
        assert list(result.state_dict()) == list(model.state_dict())


def test_values_that_are_moved_afterwards() -> None:
    model = Plain(out=lambda x: torch.sigmoid(x).flatten().unsqueeze(0).float())
    assert surgery.output_activation(model, vectors()) == "sigmoid"
    result = surgery.replace_output(model, vectors(), "linear")
    assert result(*vectors()).shape == (1, 15)
    assert surgery.output_activation(result, vectors()) == "linear"


def test_softmax_over_the_channels_of_images() -> None:
    out = surgery.replace_output(Unet(), images(), "softmax")(*images())
    assert torch.allclose(out.sum(1), torch.ones(5, 6, 6))
    model = nn.Sequential(Unet(), nn.Sigmoid())
    out = surgery.replace_output(model, images(), "softmax")(*images())
    assert torch.allclose(out.sum(1), torch.ones(5, 6, 6))


def test_a_module_that_is_hidden_too_is_split() -> None:
    example = vectors()
    result = surgery.replace_output(Shared(at_the_end=True), example, "linear")
    assert hidden_activations(result, example) == {"act": "ReLU"}
    assert surgery.output_activation(result, example) == "linear"


def test_a_model_with_more_arguments_is_wrapped() -> None:
    model = nn.Bilinear(6, 6, 3)
    example = (*vectors(), *vectors())
    result = surgery.replace_output(model.eval(), example, "sigmoid")
    assert torch.equal(result(*example), torch.sigmoid(model(*example)))
    assert list(result.state_dict()) == ["model.weight", "model.bias"]


@pytest.mark.parametrize(("form", "got"), [(lambda a, b: (a, b), "tuple"), (dict, "dict")])
def test_several_outputs_are_declined(form: Any, got: str) -> None:
    model = Twofold(form if got == "tuple" else lambda a, b: {"a": a, "b": b})
    with pytest.raises(Declined, match=f"one tensor, got a {got}"):
        surgery.replace_output(model, vectors(), "linear")
    with pytest.raises(Declined, match="one tensor"):
        surgery.output_activation(model, vectors())
    with pytest.raises(Declined, match="one tensor"):
        surgery.resize_output(model, vectors(), 4, seed=0)


def test_an_unknown_output() -> None:
    with pytest.raises(UsageError, match="no output activation 'relu'"):
        surgery.replace_output(mlp(), vectors(), "relu")


class TestResize:
    @pytest.mark.parametrize("width", [1, 2, 7])
    def test_the_last_layer_is_drawn_anew(self, width: int) -> None:
        model = mlp(nn.Tanh, nn.Softmax(-1))
        result = surgery.resize_output(model, vectors(), width, seed=1)
        assert result(*vectors()).shape == (5, width)
        last: Any = result[3]  # type: ignore[index]
        assert (last.out_features, last.weight.shape, last.bias.shape) == (
            width,
            (width, 8),
            (width,),
        )
        assert 0 < last.weight.abs().max().item() <= 8**-0.5
        again: Any = surgery.resize_output(model, vectors(), width, seed=1)
        other: Any = surgery.resize_output(model, vectors(), width, seed=2)
        assert torch.equal(last.weight, again[3].weight)
        assert not torch.equal(last.weight, other[3].weight)
        assert torch.equal(result[0].weight, model[0].weight)  # type: ignore[index]

    def test_without_bias_and_frozen_and_double(self) -> None:
        model = nn.Sequential(nn.Linear(6, 3, bias=False)).double().requires_grad_(False)
        result: Any = surgery.resize_output(model, (torch.ones(2, 6).double(),), 4, seed=0)
        assert result[0].bias is None
        assert result[0].weight.dtype == torch.float64
        assert not result[0].weight.requires_grad

    def test_outputs_that_are_moved(self) -> None:
        assert surgery.resize_output(GPT(9, 7, 8, 1), tokens(), 4, seed=0)(*tokens()).shape == (
            35,
            4,
        )
        one = nn.Sequential(nn.Linear(6, 1), nn.Flatten(0))
        with pytest.raises(Declined, match=r"outputs \(20,\) instead of \(5,\)"):
            surgery.resize_output(one, vectors(), 4, seed=0)

    def test_a_squeezed_output_gets_its_dimension_back(self) -> None:
        class Squeezed(nn.Linear):
            def forward(self, x: Tensor) -> Tensor:
                return super().forward(x).squeeze(-1)

        result = surgery.resize_output(Squeezed(6, 1), vectors(), 4, seed=0)
        assert result(*vectors()).shape == (5, 4)
        back = surgery.resize_output(result, vectors(), 1, seed=0)
        assert back(*vectors()).shape == (5,)

    def test_tied_and_shared_layers_are_declined(self) -> None:
        tied: Any = nn.Sequential(nn.Embedding(9, 8), nn.Linear(8, 9))
        tied[0].weight = tied[1].weight
        with pytest.raises(Declined, match=r"shares its weight with '0.weight'"):
            surgery.resize_output(tied, tokens(), 4, seed=0)
        layer = nn.Linear(6, 6)
        with pytest.raises(Declined, match="is used 2 times"):
            surgery.resize_output(nn.Sequential(layer, nn.ReLU(), layer), vectors(), 4, seed=0)
        with pytest.raises(Declined, match="used 2 times"):
            surgery.resize_output(nn.Sequential(layer, layer), vectors(), 4, seed=0)

    def test_computed_weights_are_declined(self) -> None:
        model = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(6, 3)))
        with pytest.raises(Declined, match="computed from other parameters"):
            surgery.resize_output(model, vectors(), 4, seed=0)

    @pytest.mark.parametrize(
        ("end", "what"),
        [
            (nn.BatchNorm1d(3), "batch_norm in '1'"),
            (nn.LSTM(3, 2), "one tensor"),
            (nn.Unflatten(1, (3, 1)), "changed model cannot be run"),
        ],
    )
    def test_other_last_layers_are_declined(self, end: nn.Module, what: str) -> None:
        model = nn.Sequential(nn.Linear(6, 3), end)
        with pytest.raises(Declined, match=what):
            surgery.resize_output(model, vectors(), 4, seed=0)

    @pytest.mark.parametrize("width", [0, -1, 2.5, True])
    def test_a_wrong_width(self, width: Any) -> None:
        with pytest.raises(UsageError, match="width must be"):
            surgery.resize_output(mlp(), vectors(), width, seed=0)

    def test_the_same_width(self) -> None:
        with pytest.raises(Declined, match="'3' has 3 outputs already"):
            surgery.resize_output(mlp(), vectors(), 3, seed=0)
