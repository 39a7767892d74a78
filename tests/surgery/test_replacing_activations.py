"""Replacing hidden activations: the result is what would have been written by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay import surgery
from sickbay.errors import Declined, UsageError
from tests.surgery.models import (
    Encoder,
    Gated,
    Lstm,
    Plain,
    Shared,
    Twofold,
    Unet,
    cnn,
    hidden_activations,
    images,
    mlp,
    outputs,
    same,
    tokens,
    vectors,
)

TARGETS: dict[str, tuple[type[nn.Module], Callable[[Tensor], Tensor]]] = {
    "selu": (nn.SELU, F.selu),
    "relu": (nn.ReLU, F.relu),
    "leaky_relu": (nn.LeakyReLU, F.leaky_relu),
    "elu": (nn.ELU, F.elu),
    "tanh": (nn.Tanh, torch.tanh),
    "gelu": (nn.GELU, F.gelu),
    "silu": (nn.SiLU, F.silu),
}


@pytest.mark.parametrize("to", TARGETS)
def test_every_target(to: str) -> None:
    module, function = TARGETS[to]
    example = vectors()
    result = surgery.replace_activations(mlp(), example, to)
    assert same(result, mlp(module), example)
    result = surgery.replace_activations(Plain(), example, to)
    assert same(result, Plain(function), example)


@pytest.mark.parametrize(
    "function",
    [
        F.relu, torch.relu, F.relu_, F.relu6, F.sigmoid, torch.sigmoid, torch.tanh,
        F.tanh, F.gelu, F.elu, F.selu, F.leaky_relu, F.softplus, F.hardtanh, F.mish,
        F.hardswish, F.softsign, F.logsigmoid, lambda x: x.sigmoid(), lambda x: x.relu_(),
    ],
)  # fmt: skip
def test_every_function(function: Callable[[Tensor], Tensor]) -> None:
    example = vectors()
    result = surgery.replace_activations(Plain(function), example, "silu")
    assert same(result, Plain(F.silu), example)


@pytest.mark.parametrize(
    "module",
    [
        nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.Sigmoid, nn.Tanh,
        nn.Softplus, nn.Hardtanh, nn.Hardswish, nn.Hardsigmoid, nn.Mish, nn.Softsign, nn.RReLU,
        nn.LogSigmoid, nn.PReLU,
    ],
)  # fmt: skip
def test_every_module(module: type[nn.Module]) -> None:
    example = vectors()
    result = surgery.replace_activations(mlp(module), example, "silu")
    assert same(result, mlp(nn.SiLU), example)


def test_the_output_activation_stays() -> None:
    example = vectors()
    result = surgery.replace_activations(mlp(nn.Sigmoid, nn.Sigmoid()), example, "relu")
    assert same(result, mlp(nn.ReLU, nn.Sigmoid()), example)
    result = surgery.replace_activations(Plain(out=torch.sigmoid), example, "relu")
    assert same(result, Plain(F.relu, out=torch.sigmoid), example)
    squeezed = nn.Sequential(mlp(nn.Tanh, nn.Tanh()), nn.Flatten(0), nn.Unflatten(0, (-1, 3)))
    result = surgery.replace_activations(squeezed, example, "relu")
    assert surgery.output_activation(result, example) == "tanh"


def test_outputs_of_a_tuple_stay() -> None:
    def pair(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return a, b

    result = surgery.replace_activations(Twofold(pair), vectors(), "relu")
    assert hidden_activations(result, vectors()) == {"activation": "ReLU"}
    result = surgery.replace_activations(
        Twofold(lambda a, b: {"prediction": a, "mean": b}), vectors(), "relu"
    )
    assert result(*vectors())["prediction"].max().item() < 1


def test_names_and_state_are_kept() -> None:
    model = Plain()
    result = surgery.replace_activations(model, vectors(), "relu")
    assert list(result.state_dict()) == list(model.state_dict())
    assert isinstance(result, Plain)
    assert type(result).__name__ == "Plain"
    assert hidden_activations(model, vectors()) == {
        "sigmoid": "sigmoid",
        "sigmoid_2": "sigmoid",
    }
    result = surgery.replace_activations(mlp(), vectors(), "elu")
    assert [name for name, _ in result.named_modules()] == [
        name for name, _ in mlp().named_modules()
    ]


def test_a_shared_module_changes_everywhere() -> None:
    example = vectors()
    act = nn.Sigmoid()
    model = nn.Sequential(
        nn.Linear(6, 8), act, nn.Sequential(nn.Linear(8, 8), act), nn.Linear(8, 3)
    )
    assert same(surgery.replace_activations(model, example, "relu"), mlp(nn.ReLU), example)
    result = surgery.replace_activations(Shared(), example, "tanh")
    assert isinstance(result.act, nn.Tanh)


def test_a_module_shared_with_the_output_is_split() -> None:
    example = vectors()
    result = surgery.replace_activations(Shared(at_the_end=True), example, "tanh")
    kinds = hidden_activations(result, example)
    assert kinds == {"activation": "Tanh", "activation_2": "Tanh"}
    assert surgery.output_activation(result, example) == "relu"
    assert float(result(*example).detach().min()) >= 0


def test_gates_stay() -> None:
    assert hidden_activations(Gated(), vectors()) == {"sigmoid": "sigmoid"}
    assert hidden_activations(cnn(), images()) == {
        "1": "ReLU",
        "2.relu": "ReLU",
        "3.relu": "relu",
    }
    result = surgery.replace_activations(cnn(), images(), "selu")
    assert isinstance(result[3].gate, nn.Sigmoid)  # type: ignore[index]


def test_a_gate_on_the_input_stays() -> None:
    class Weighted(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return torch.sigmoid(super().forward(x)) * x

    model = nn.Sequential(Weighted(6, 6), nn.Linear(6, 3))
    assert hidden_activations(model, vectors()) == {}


def test_gates_of_a_hand_written_cell_stay() -> None:
    class Cell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gates, self.last = nn.Linear(6, 16), nn.Linear(4, 3)

        def forward(self, x: Tensor) -> Tensor:
            i, f, g, o = self.gates(x).chunk(4, -1)
            state = torch.sigmoid(i) * torch.tanh(g) * (1 - torch.sigmoid(f))
            out: Tensor = self.last(torch.sigmoid(o) * torch.tanh(state))
            return out

    assert hidden_activations(Cell(), vectors()) == {}
    with pytest.raises(Declined, match="no hidden activation"):
        surgery.replace_activations(Cell(), vectors(), "relu")


def test_a_hand_written_swish_stays_but_a_squared_relu_does_not() -> None:
    swish = Plain(lambda x: x * torch.sigmoid(x))
    assert hidden_activations(swish, vectors()) == {}

    def squared(x: Tensor) -> Tensor:
        positive = F.relu(x)
        return positive * positive

    assert len(hidden_activations(Plain(squared), vectors())) == 2


def test_recurrent_layers() -> None:
    model = nn.RNN(6, 4, batch_first=True)
    example = (torch.randn(5, 7, 6),)
    result = surgery.replace_activations(model, example, "relu")
    twin = nn.RNN(6, 4, batch_first=True, nonlinearity="relu")
    assert same(result, twin, example)
    with pytest.raises(Declined, match="tanh or relu, not selu"):
        surgery.replace_activations(model, example, "selu")
    cell = surgery.replace_activations(nn.RNNCell(6, 4), vectors(), "relu")
    assert same(cell, nn.RNNCell(6, 4, nonlinearity="relu"), vectors())
    assert hidden_activations(Lstm(), tokens()) == {"act": "Tanh"}


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize(("old", "new"), [("relu", "selu"), ("gelu", "relu"), (nn.Tanh(), "gelu")])
@pytest.mark.filterwarnings("ignore:enable_nested_tensor", "ignore:The PyTorch API of nested")
def test_transformer_layers(old: Any, new: str, mask: bool) -> None:
    example = tokens()
    example[0].clamp_(min=1)
    example[0][0, -2:] = 0  # padding at the end only, which the fast path cuts off
    result = surgery.replace_activations(Encoder(old, mask), example, new)
    twin = Encoder(TARGETS[new][1], mask)
    assert same(result, twin, example)
    known = isinstance(old, str) and new != "selu"
    assert result.body.use_nested_tensor is known  # type: ignore[union-attr]
    twin.body.use_nested_tensor = known
    with torch.no_grad():  # torch's fast path
        assert torch.allclose(outputs(result, example), outputs(twin, example), atol=1e-5)
    names = [f"body.layers.{index}.activation" for index in range(2)]
    assert list(hidden_activations(result, example)) == names


def test_decoder_layers() -> None:
    example = (torch.randn(3, 4, 8), torch.randn(3, 5, 8))
    layer = nn.TransformerDecoderLayer(8, 2, 16, 0.1, batch_first=True)
    result = surgery.replace_activations(layer, example, "silu")
    twin = nn.TransformerDecoderLayer(8, 2, 16, 0.1, F.silu, batch_first=True)
    assert same(result, twin, example)
    with pytest.raises(Declined, match="forgets the activation of a decoder"):
        surgery.insert_normalisation(layer, example)
    layer = nn.TransformerDecoderLayer(8, 2, 16, 0.1, nn.SiLU(), batch_first=True)
    with pytest.raises(Declined, match="has a module as activation"):
        surgery.replace_activations(layer, example, "relu")


def test_skips_over_and_functions_of_three_kinds() -> None:
    names = hidden_activations(Unet(), images())
    assert names == {"relu": "relu", "relu_2": "relu", "relu_3": "relu"}
    result = surgery.replace_activations(Unet(), images(), "elu")
    assert set(hidden_activations(result, images()).values()) == {"ELU"}


def test_only_some_layers() -> None:
    example = vectors()

    def changed(model: nn.Module, *layers: str) -> list[str]:
        result = surgery.replace_activations(model, example, "relu", layers=layers)
        return list(hidden_activations(result, example).values())

    assert changed(mlp(), "1") == ["ReLU", "Sigmoid"]
    assert changed(mlp(), "2") == ["Sigmoid", "ReLU"]
    assert changed(mlp(), "2.0") == ["Sigmoid", "ReLU"]
    assert changed(mlp(), "0", "2.1") == ["ReLU", "ReLU"]
    assert changed(Plain(), "second") == ["sigmoid", "ReLU"]
    assert changed(Plain(), "sigmoid") == ["ReLU", "sigmoid"]
    with pytest.raises(Declined, match="no hidden activation"):
        changed(mlp(), "3")
    with pytest.raises(UsageError, match="no layer 'x'"):
        changed(mlp(), "x")
    with pytest.raises(UsageError, match="layers must be a list"):
        surgery.replace_activations(mlp(), example, "relu", layers="1")


@pytest.mark.parametrize("to", TARGETS)
def test_an_activation_is_told_by_what_it_computes_not_by_its_name(to: str) -> None:
    named_otherwise = type("Mine", (TARGETS[to][0],), {})
    with pytest.raises(Declined, match=f"{to} already"):
        surgery.replace_activations(mlp(named_otherwise), vectors(), to)
