"""Layers that still have torch's random weights, and layers that torch cannot see."""

from collections.abc import Callable, Collection
from typing import Any

import pytest
import torch
from torch import nn

from sickbay.probe.initial_weights import frozen_at_random, looks_initial, unregistered

LAYERS: dict[str, Callable[[], Any]] = {
    "linear": lambda: nn.Linear(64, 32),
    "wide": lambda: nn.Linear(2000, 10),
    "convolution": lambda: nn.Conv2d(3, 16, 3),
    "convolution-in-one-dimension": lambda: nn.Conv1d(8, 16, 3),
    "embedding": lambda: nn.Embedding(100, 16),
    "bag": lambda: nn.EmbeddingBag(100, 16),
    "half-precision": lambda: nn.Linear(64, 32).bfloat16(),
}
every_layer = pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)


@pytest.mark.parametrize("seed", range(5))
@every_layer
def test_new_layers(make: Callable[[], Any], seed: int) -> None:
    torch.manual_seed(seed)
    layer = make()
    assert looks_initial(layer, layer.weight)


@pytest.mark.parametrize("scale", [0.0, 0.5, 1.5])
@every_layer
def test_weights_of_another_size(make: Callable[[], Any], scale: float) -> None:
    torch.manual_seed(0)
    layer = make()
    assert not looks_initial(layer, layer.weight * scale)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda weight: weight.clone(), True, id="as-it-was"),
        pytest.param(
            lambda weight: weight.index_fill(0, torch.tensor([0]), 0.2), False, id="a-row"
        ),
        pytest.param(nn.init.kaiming_normal_, False, id="normal"),
        pytest.param(nn.init.xavier_uniform_, False, id="xavier"),
        pytest.param(nn.init.orthogonal_, False, id="orthogonal"),
        pytest.param(lambda weight: weight.fill_(torch.nan), False, id="nan"),
        pytest.param(lambda weight: weight.fill_(torch.inf), False, id="inf"),
        pytest.param(lambda weight: weight.to("meta"), False, id="no-data"),
        pytest.param(lambda weight: weight.to(torch.int8), False, id="whole-numbers"),
        pytest.param(lambda weight: weight[:1], False, id="too-few-values"),
    ],
)
def test_linear_weights(change: Callable[[torch.Tensor], torch.Tensor], expected: bool) -> None:
    torch.manual_seed(0)
    layer = nn.Linear(48, 32)
    with torch.no_grad():
        assert looks_initial(layer, change(layer.weight.data)) is expected


def test_weights_that_were_trained() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        x = torch.randn(64, 16)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    model.requires_grad_(False)
    assert frozen_at_random(dict(model.named_modules())) == ()


def test_only_what_is_frozen_counts() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.LSTM(16, 16), nn.Embedding(50, 8), nn.Linear(9, 8))
    modules = dict(model.named_modules())
    assert frozen_at_random(modules) == ()
    model.requires_grad_(False)
    assert frozen_at_random(modules) == ("0", "2", "3")
    model[0].weight.requires_grad_(True)
    assert frozen_at_random(modules) == ("2", "3")


def test_random_states_are_left_alone() -> None:
    before = torch.get_rng_state()
    layer = nn.Linear(64, 32, device="meta").to_empty(device="cpu")
    looks_initial(layer, torch.zeros(32, 64))
    assert torch.equal(before, torch.get_rng_state())


class Holder(nn.Module):
    def __init__(self, kept: Any) -> None:
        super().__init__()
        self.inner = nn.Identity()
        self.inner.kept = kept


def counted(kept: Any, own: Collection[int] = (), *, detached: bool = False) -> int:
    """Return how many count in a loss that all parts of the list have computed."""
    model, total = Holder(kept), torch.ones(2, requires_grad=True)
    for part in kept.values() if isinstance(kept, dict) else kept:
        if isinstance(part, nn.Module):
            out = part(torch.ones(3, 2))
            total = total + (out.detach() if detached else out)
    own = {*own, *map(id, model.parameters())}
    return unregistered(model, own, total.sum().grad_fn)


def linear() -> nn.Linear:
    return nn.Linear(2, 2)


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        pytest.param([linear(), nn.ReLU(), linear()], 2, id="list"),
        pytest.param((linear(),), 1, id="tuple"),
        pytest.param({"a": linear()}, 1, id="dict"),
        pytest.param([nn.Sequential(linear(), linear())], 2, id="nested"),
        pytest.param([linear().requires_grad_(False)], 0, id="frozen"),
        pytest.param([nn.LayerNorm(2)], 0, id="no-kernel"),
        pytest.param(nn.ModuleList([linear()]), 0, id="module-list"),
        pytest.param([torch.ones(2, 2)], 0, id="tensors"),
        pytest.param([], 0, id="empty"),
        pytest.param("words", 0, id="words"),
    ],
)
def test_layers_in_plain_lists(kept: Any, expected: int) -> None:
    assert counted(kept) == expected


def test_what_the_optimizer_holds_is_registered() -> None:
    kept = [linear(), linear()]
    held = {id(each) for each in kept[0].parameters()}
    assert counted(kept, held) == 1


def test_what_the_loss_does_not_train_is_kept_on_purpose() -> None:
    assert counted([linear(), nn.Sequential(linear(), linear())], detached=True) == 0
