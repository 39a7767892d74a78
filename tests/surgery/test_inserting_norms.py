"""The right norm at the right place."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from benchmarks.overhead.workloads import GPT
from sickbay import surgery
from sickbay.errors import Declined
from tests.surgery.models import (
    Basic,
    Encoder,
    Lstm,
    Plain,
    Shared,
    Unet,
    cnn,
    conv,
    images,
    mlp,
    outputs,
    tokens,
    vectors,
)

NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm, nn.GroupNorm)


def added(model: nn.Module, example: tuple[Any, ...]) -> dict[str, str]:
    """Return the kinds and sizes of the norms that are put in, by name."""
    known = {name for name, module in model.named_modules() if isinstance(module, NORMS)}
    result = surgery.insert_normalisation(model, example)
    found = {}
    for name, module in result.named_modules():
        if isinstance(module, NORMS) and name not in known:
            size = getattr(module, "num_features", getattr(module, "num_channels", None))
            size = module.normalized_shape[0] if isinstance(module, nn.LayerNorm) else size
            found[name] = f"{type(module).__name__} {size}"
    return found


def test_linear_layers() -> None:
    assert added(mlp(), vectors()) == {"1.0": "BatchNorm1d 8", "2.1.0": "BatchNorm1d 8"}
    assert added(Plain(), vectors()) == {"norm": "BatchNorm1d 8", "norm_2": "BatchNorm1d 8"}


def test_no_batch_norm_for_batches_of_one() -> None:
    assert added(mlp(), vectors(1)) == {"1.0": "LayerNorm 8", "2.1.0": "LayerNorm 8"}
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3))
    assert added(model, images(1)) == {"1.0": "GroupNorm 4"}
    result = surgery.insert_normalisation(model, images(1))
    assert result.get_submodule("1.0").num_groups == 1


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolutions(dims: int) -> None:
    model, example = conv(dims), (torch.randn(4, 3, *[6] * dims),)
    model(*example)  # its last layer is lazy
    kind = f"BatchNorm{dims}d"
    assert added(model, example) == {"1.0": f"{kind} 4", "3.0": f"{kind} 5"}


def test_sequences() -> None:
    three = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    assert added(three, (torch.randn(4, 7, 6),)) == {"1.0": "LayerNorm 8"}
    assert added(Lstm(), tokens()) == {"act.0": "LayerNorm 8"}
    assert added(GPT(9, 7, 8, 2), tokens()) == {
        "blocks.0.gelu.0": "LayerNorm 32",
        "blocks.1.gelu.0": "LayerNorm 32",
    }
    last = nn.Sequential(nn.EmbeddingBag(9, 6), nn.Tanh(), nn.Linear(6, 3))
    assert added(last, tokens()) == {"1.0": "LayerNorm 6"}


def test_a_convolution_turned_into_a_sequence() -> None:
    class Turned(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.last = nn.Conv1d(3, 4, 3, padding=1), nn.Linear(4, 2)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.last(torch.relu(self.conv(x).transpose(1, 2)))
            return out

    assert added(Turned(), (torch.randn(5, 3, 6),)) == {"norm": "LayerNorm 4"}


def test_a_decoder_from_vectors_to_images() -> None:
    model = nn.Sequential(
        nn.Linear(6, 16), nn.Unflatten(1, (4, 2, 2)), nn.ReLU(), nn.ConvTranspose2d(4, 3, 2)
    )
    assert added(model, vectors()) == {"2.0": "BatchNorm2d 4"}
    channels_last = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3))
    assert added(channels_last, (torch.randn(2, 3, 4, 6),)) == {"1.0": "LayerNorm 8"}


def test_residual_blocks_get_one_behind_the_sum_only() -> None:
    assert added(cnn(), images()) == {
        "1.0": "BatchNorm2d 4",
        "2.norm": "BatchNorm2d 4",
        "3.norm": "BatchNorm1d 2",
    }
    torch.manual_seed(0)
    block, x = Basic(3), images()[0]
    model = nn.Sequential(block, nn.AvgPool2d(1))
    result = surgery.insert_normalisation(model, (x,))
    assert list(model.state_dict()) == [key for key in result.state_dict() if "norm" not in key]
    out = block.bn2(block.conv2(torch.relu(block.bn1(block.conv1(x))))) + x
    expected = torch.relu((out - out.mean((0, 2, 3), True)) / out.std((0, 2, 3), False, True))
    assert torch.allclose(outputs(result, (x,), training=True), expected, atol=1e-4)


def test_skips() -> None:
    assert added(Unet(), images()) == {f"norm{end}": "BatchNorm2d 4" for end in ("", "_2", "_3")}


def test_transformer_layers() -> None:
    result = surgery.insert_normalisation(Encoder(), tokens())
    inside = result.get_submodule("body.layers.1.activation")
    assert isinstance(inside[0], nn.LayerNorm)  # type: ignore[index]
    assert inside[0].normalized_shape == (16,)  # type: ignore[index]
    layer = result.get_submodule("body.layers.1")
    assert layer.activation_relu_or_gelu == 0
    x = torch.randn(3, 4, 16)
    expected = torch.relu(nn.functional.layer_norm(x, (16,)))
    assert torch.allclose(inside(x), expected)


def test_the_values_are_normalised() -> None:
    example = (100 * torch.randn(64, 6) + 50,)
    changed = surgery.insert_normalisation(mlp(nn.Sigmoid), example)
    seen: list[Tensor] = []
    norm = changed.get_submodule("2.1.0")
    norm.register_forward_hook(lambda _m, _i, out: seen.append(out))
    outputs(changed, example, training=True)
    assert torch.allclose(seen[0].mean(0), torch.zeros(8), atol=1e-5)
    assert torch.allclose(seen[0].std(0, correction=0), torch.ones(8), atol=1e-2)


def test_other_names_are_kept() -> None:
    model = mlp()
    result = surgery.insert_normalisation(model, vectors())
    new = [key for key in result.state_dict() if not key.startswith(("1.", "2.1."))]
    assert new == list(model.state_dict())


def test_a_shared_activation_is_split() -> None:
    assert added(Shared(), vectors()) == {"norm": "BatchNorm1d 8", "norm_2": "BatchNorm1d 8"}
    model = Shared(sizes=(8, 4))
    assert added(model, vectors()) == {"norm": "BatchNorm1d 8", "norm_2": "BatchNorm1d 4"}
    act = nn.ReLU()
    twice = nn.Sequential(nn.Linear(6, 8), act, nn.Linear(8, 4), act, nn.Linear(4, 3))
    assert added(twice, vectors()) == {"1.0": "BatchNorm1d 8", "3.0": "BatchNorm1d 4"}


def test_no_batch_norm_in_code_that_runs_several_times() -> None:
    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.Sequential(nn.Linear(6, 6), nn.Tanh())

        def forward(self, x: Tensor) -> Tensor:
            for _ in range(3):
                x = self.cell(x) + x
            return x

    assert added(Loop(), vectors()) == {"cell.1.0": "LayerNorm 6"}


def test_double_precision() -> None:
    result = surgery.insert_normalisation(mlp().double(), (torch.randn(5, 6).double(),))
    assert {each.dtype for each in result.parameters()} == {torch.float64}


class Scale(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x / x.square().sum(-1, keepdim=True)


class RootMeanSquare(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


class StandardScore(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6)


class InversePower(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * (x * x).mean(-1, keepdim=True).pow(-0.5)


class ScaledNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.scale = nn.LayerNorm(8), nn.Parameter(torch.ones(8))

    def forward(self, x: Tensor) -> Tensor:
        scaled: Tensor = self.norm(x) * self.scale
        return scaled


class NormOnlyByName(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


def test_a_class_name_does_not_make_a_norm() -> None:
    model = nn.Sequential(nn.Linear(6, 8), NormOnlyByName(), nn.ReLU(), nn.Linear(8, 3))
    assert added(model, vectors()) == {"2.0": "BatchNorm1d 8"}


class TestDeclined:
    def test_one_block_with_two_sizes(self) -> None:
        class Any2(nn.Module):
            def forward(self, x: Tensor) -> Tensor:
                return torch.relu(x)

        block = Any2()
        model = nn.Sequential(nn.Linear(6, 8), block, nn.Linear(8, 4), block, nn.Linear(4, 3))
        with pytest.raises(Declined, match=r"'1.relu' is used several times, with different"):
            surgery.insert_normalisation(model, vectors())

    def test_norms_everywhere(self) -> None:
        model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
        with pytest.raises(Declined, match="before every hidden activation already"):
            surgery.insert_normalisation(model, vectors())

    @pytest.mark.parametrize(
        "norm", [Scale(), RootMeanSquare(), StandardScore(), InversePower(), ScaledNorm()]
    )
    def test_a_norm_of_the_users_own(self, norm: nn.Module) -> None:
        model = nn.Sequential(nn.Linear(6, 8), norm, nn.ReLU(), nn.Linear(8, 3))
        with pytest.raises(Declined, match="before every hidden activation already"):
            surgery.insert_normalisation(model, vectors())

    def test_no_activation(self) -> None:
        with pytest.raises(Declined, match="no hidden activation"):
            surgery.insert_normalisation(nn.Linear(6, 3), vectors())

    def test_a_norm_that_would_erase_the_signal(self) -> None:
        model = nn.Sequential(nn.Linear(6, 1), nn.Tanh(), nn.Linear(1, 3))
        with pytest.raises(Declined, match="too narrow"):
            surgery.insert_normalisation(model, vectors(1))
