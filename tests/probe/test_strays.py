"""Layers that a model uses but does not hold, seen in the graph behind the loss."""

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor, nn

import sickbay
from sickbay.probe import loss_graph
from tests.models import compiled


class Listed(nn.Module):
    """Holds its first and last layer, and those between in a plain list."""

    def __init__(self, between: Sequence[nn.Module], first: nn.Module, last: nn.Module) -> None:
        super().__init__()
        self.first, self.between, self.last = first, list(between), last

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for layer in self.between:
            x = layer(x).relu()
        out: Tensor = self.last(x)
        return out


def linear() -> nn.Linear:
    return nn.Linear(4, 4)


def listed(*between: nn.Module) -> Listed:
    return Listed(between, linear(), linear())


def strays(model: nn.Module, loss: Tensor, *others: nn.Module) -> int:
    own = {id(each) for module in (model, *others) for each in module.parameters()}
    return loss_graph.count_strays(loss.grad_fn, own)


def frozen() -> nn.Module:
    return linear().requires_grad_(False)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        pytest.param(listed(linear()), 1, id="one"),
        pytest.param(listed(linear(), linear()), 2, id="two"),
        pytest.param(listed(linear(), nn.Sequential(linear(), nn.ReLU(), linear())), 3, id="three"),
        pytest.param(listed(), 0, id="none"),
        pytest.param(listed(nn.LayerNorm(4)), 0, id="no-kernel"),
        pytest.param(listed(frozen()), 0, id="frozen-on-purpose"),
        pytest.param(nn.Sequential(linear(), nn.ReLU(), linear(), linear()), 0, id="all-held"),
    ],
)
def test_linear_layers(model: nn.Module, expected: int) -> None:
    assert strays(model, model(torch.randn(6, 4)).square().mean()) == expected


@pytest.mark.parametrize("count", [0, 1, 3])
def test_convolutions(count: int) -> None:
    def conv() -> nn.Module:
        return nn.Conv2d(2, 2, 3, padding=1)

    model = Listed([conv() for _ in range(count)], conv(), conv())
    assert strays(model, model(torch.randn(3, 2, 5, 5)).mean()) == count


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda inner, other, x: other(inner(x)), id="behind"),
        pytest.param(lambda inner, other, x: inner(other(x)), id="before"),
        pytest.param(lambda inner, other, x: inner(x) + other(x), id="beside"),
    ],
)
def test_another_model_is_no_part_of_this_one(wrap: Callable[..., Tensor]) -> None:
    model, other = nn.Sequential(linear(), linear()), nn.Sequential(linear(), linear())
    assert strays(model, wrap(model, other, torch.randn(6, 4)).mean()) == 0


def test_what_an_optimizer_holds_is_no_stray() -> None:
    between = linear()
    model = listed(between)
    assert strays(model, model(torch.randn(6, 4)).mean(), between) == 0


def test_inputs_with_a_gradient_are_no_strays() -> None:
    model = nn.Sequential(linear(), nn.Tanh(), linear(), nn.Tanh(), linear())
    inputs = torch.randn(6, 4, requires_grad=True)
    outputs = model(inputs)
    assert strays(model, outputs.mean()) == 0
    (slopes,) = torch.autograd.grad(outputs.sum(), inputs, create_graph=True)
    assert strays(model, slopes.square().mean()) == 0


def test_a_layer_used_twice_is_no_stray() -> None:
    layer = linear()
    model = nn.Sequential(layer, nn.ReLU(), layer, nn.ReLU(), layer)
    assert strays(model, model(torch.randn(6, 4)).mean()) == 0


def test_a_compiled_model_shows_only_its_outside() -> None:
    model = listed(linear())
    assert strays(model, compiled(model)(torch.randn(6, 4)).mean()) == 0


def test_a_huge_graph_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    model = listed(linear())
    loss = model(torch.randn(6, 4)).mean()
    monkeypatch.setattr(loss_graph, "NODES", 5)
    assert strays(model, loss) == 0


@pytest.mark.parametrize("all_of_them", [False, True])
def test_through_a_doctor(all_of_them: bool) -> None:
    torch.manual_seed(0)
    between = linear()
    model = listed(between)
    held = [*model.parameters(), *(between.parameters() if all_of_them else ())]
    optimizer = torch.optim.SGD(held, lr=1e-3)
    with sickbay.watch(model, optimizer, every=1, on_finding="silent") as doctor:
        for _ in range(2):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(torch.randn(6, 4)), torch.randn(6, 4))
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            doctor.step(loss)
    assert doctor.history.setup.strays == (0 if all_of_them else 1)
    found = [finding.problem for finding in doctor.findings]
    assert found == ([] if all_of_them else ["frozen_by_accident"])
