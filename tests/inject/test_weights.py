from collections.abc import Callable
from math import inf, isnan
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from sickbay import inject
from tests.inject.loops import STEPS, train
from tests.models import Transformer, cnn, mlp, tokens


@pytest.mark.parametrize("layer", [None, "4"])
def test_one_value_of_one_weight_is_spoilt(layer: str | None) -> None:
    spoilt = train(
        lambda model, used: inject.nan_weight(model, used, at=3, layer=layer), optimizer=SGD
    )
    counts = [{n: int(w.isnan().sum()) for n, w in each.items()} for each in spoilt.weights]
    assert not any(sum(each.values()) for each in counts[:3])
    assert {n: count for n, count in counts[3].items() if count} == {f"{layer or 0}.weight": 1}
    assert isnan(spoilt.losses[3])


def test_a_nan_weight_avoids_embeddings() -> None:
    model = Transformer()
    with inject.nan_weight(model, SGD(model.parameters(), lr=0.1), at=0):
        model(tokens())
    assert model.embed.weight.isfinite().all()
    lone = nn.Embedding(3, 2)
    with inject.nan_weight(lone, SGD(lone.parameters(), lr=0.1), at=0, value=inf):
        lone(torch.tensor([1]))
    assert lone.weight.tolist()[0][0] == inf


def hasty(parameters: Any, lr: float) -> Optimizer:
    """Return an optimizer whose momentum would bring a layer back to life."""
    return Adam(parameters, lr=100 * lr)


def heavy(parameters: Any, lr: float) -> Optimizer:
    return SGD(parameters, lr, momentum=0.9)


@pytest.mark.parametrize("optimizer", [AdamW, SGD, hasty, heavy])
@pytest.mark.parametrize("activation", [nn.ReLU, nn.GELU])
def test_a_dead_layer_puts_out_zeros_for_good(
    optimizer: Callable[..., Optimizer], activation: Callable[[], nn.Module]
) -> None:
    outputs: list[Tensor] = []

    def build() -> nn.Module:
        model = mlp(activation=activation)
        model[3].register_forward_hook(lambda *given: outputs.append(given[2]))  # type: ignore[index]
        return model

    train(
        lambda model, used: inject.dead_layer(model, used, layer="2", at=4),
        build=build,
        optimizer=optimizer,
    )
    assert [bool(each.any()) for each in outputs] == [step < 4 for step in range(STEPS)]


def test_a_layer_without_a_bias_and_a_batch_norm_can_die_too() -> None:
    for model, layer in (
        (nn.Sequential(nn.Linear(3, 3, bias=False), nn.ReLU()), "0"),
        (cnn(), "1"),
    ):
        used = SGD(model.parameters(), lr=0.1)
        with inject.dead_layer(model, used, layer=layer, at=0):
            model(torch.randn(4, 3) if layer == "0" else torch.randn(4, 3, 10, 10))
        bias = dict(model.named_parameters()).get(f"{layer}.bias")
        assert bias is None or (bias < 0).all()
        assert not model[int(layer)].weight.any()  # type: ignore[index]
