from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD, Adam, Optimizer

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.limits.memory_is_bounded import MemoryIsBounded


def examined(
    model: nn.Module, samples: int = 64, optimizer: Optimizer | None = None, limit: float = 0
) -> Result:
    batch = torch.randn(samples, 100)
    return checkup(model, batch, optimizer=optimizer, tests=MemoryIsBounded(limit=limit)).results[0]


def model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(100, 200), nn.ReLU(), nn.Linear(200, 50))


WEIGHTS = 4 * (100 * 200 + 200 + 200 * 50 + 50)


def test_an_mlp_by_hand() -> None:
    result = examined(model(), 64)
    evidence = {name: round(each * 1e9) for name, each in result.evidence.items()}
    assert result.outcome == "passed"
    assert evidence["weights"] == evidence["gradients"] == WEIGHTS
    assert evidence["state"] == 2 * WEIGHTS
    # the inputs, the output of the ReLU, and the output that is squared
    assert evidence["saved"] == pytest.approx(64 * 4 * (100 + 200 + 50), rel=0.05)
    assert "64 samples" in result.message
    assert "Adam (no optimizer was given)" in result.message


def test_more_samples_need_more_memory() -> None:
    few, many = (examined(model(), size).evidence["saved"] for size in (32, 64))
    assert many == pytest.approx(2 * few)


def test_frozen_weights_need_no_gradient() -> None:
    frozen = model().requires_grad_(False)
    frozen[2].requires_grad_(True)
    result = examined(frozen)
    assert round(result.evidence["gradients"] * 1e9) == 4 * (200 * 50 + 50)


@pytest.mark.parametrize(
    ("kind", "options", "copies"),
    [
        pytest.param(SGD, {}, 0, id="sgd"),
        pytest.param(SGD, {"momentum": 0.9}, 1, id="momentum"),
        pytest.param(Adam, {}, 2, id="adam"),
        pytest.param(Adam, {"amsgrad": True}, 3, id="amsgrad"),
    ],
)
@pytest.mark.parametrize("stepped", [True, False])
def test_the_optimizer(kind: Any, options: dict[str, Any], copies: int, stepped: bool) -> None:
    given = model()
    optimizer = kind(given.parameters(), lr=0.1, **options)
    if stepped:
        given(torch.randn(2, 100)).sum().backward()
        optimizer.step()
    result = examined(given, optimizer=optimizer)
    assert result.evidence["state"] * 1e9 == pytest.approx(copies * WEIGHTS, abs=64)
    assert kind.__name__ in result.message


def test_too_much() -> None:
    result = examined(model(), limit=1e-4)
    assert result.outcome == "failed"
    assert "(limit 0.0001 GB)" in result.message
    assert examined(model(), limit=1).outcome == "passed"


class Keeps(nn.Module):
    """Holds what it put out: all of it, or the last alone."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.layer, self.most = nn.Linear(100, 50), most
        self.outputs: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> Any:
        self.outputs = [*self.outputs, self.layer(x)][-self.most :]
        return self.outputs[-1]


class Adds(nn.Module):
    """Adds up what it put out, or holds it in something else than a list."""

    def __init__(self, keep: Callable[[Any, torch.Tensor], None]) -> None:
        super().__init__()
        self.layer, self.keep = nn.Linear(100, 50), keep
        self.total, self.all, self.some = torch.zeros(()), deque[Any](), deque[Any](maxlen=99)
        self.register_buffer("bank", torch.zeros(0, 50))

    def forward(self, x: torch.Tensor) -> Any:
        output = self.layer(x)
        self.keep(self, output)
        return output


def add(model: Any, output: torch.Tensor) -> None:
    model.total = model.total + output.mean()


def store(model: Any, output: torch.Tensor) -> None:
    model.bank = torch.cat([model.bank, output.detach()])


@pytest.mark.parametrize(
    ("keep", "outcome"),
    [
        pytest.param(add, "failed", id="graph"),
        pytest.param(store, "failed", id="buffer"),
        pytest.param(lambda model, each: model.all.append(each.detach()), "failed", id="deque"),
        pytest.param(lambda model, each: model.some.append(each.detach()), "passed", id="bounded"),
    ],
)
def test_tensors_in_other_collections(
    keep: Callable[[Any, torch.Tensor], None], outcome: str
) -> None:
    assert examined(Adds(keep)).outcome == outcome


def test_a_model_that_holds_more_after_every_pass() -> None:
    result = examined(Keeps(100))
    assert result.outcome == "failed"
    assert result.evidence == {"growth": 2 * 50 * 4}
    assert examined(Keeps(1)).outcome == "passed"
    assert examined(Keeps(10)).outcome == "passed"
