"""Parts of a model, or of a loss, that are held where a copy does not reach."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.checkups import checkup
from tests.checkups.small_network import data


class Held(nn.Module):
    """Runs its layers through a function that holds them."""

    def __init__(self, hold: Callable[[nn.Module], Any]) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(), nn.ReLU())
        self.head = nn.Linear(8, 3)
        self.function = hold(self.body)

    def forward(self, x: Tensor) -> Any:
        return self.head(self.function(x))


def apply(layer: nn.Module, x: Tensor) -> Any:
    return layer(x)


class Owner:
    def __init__(self, layer: nn.Module) -> None:
        self.layer = layer

    def __deepcopy__(self, _memo: object) -> "Owner":
        return self

    def run(self, x: Tensor) -> Any:
        return self.layer(x)


def owned(layer: nn.Module) -> Any:
    owner = Owner(layer)
    return lambda x: owner.layer(x)


def copied(layer: nn.Module) -> Any:
    return partial(apply, layer)


def state(*modules: nn.Module) -> Any:
    """Return all that the modules hold, as numbers."""
    return [
        (
            [part.tolist() for part in each.state_dict().values()],
            [None if part.grad is None else part.grad.tolist() for part in each.parameters()],
            [part.training for part in each.modules()],
        )
        for each in modules
    ]


@pytest.mark.parametrize("hold", [lambda layer: lambda x: layer(x), owned, copied])
def test_a_model_that_a_function_holds_fails_nothing_and_is_restored(hold: Any) -> None:
    model = Held(hold)
    model(torch.randn(8, 4)).sum().backward()
    before = state(model)
    report = checkup(model, data(), nn.CrossEntropyLoss())
    assert [each.test for each in report.failed] == []
    assert before == state(model)
    shared = [note for note in report.untested if "the model itself was run" in note]
    assert bool(shared) is (hold is not copied)


def test_layers_that_are_no_part_of_the_model_are_restored() -> None:
    model, other = nn.Linear(4, 3), nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    model.register_forward_hook(lambda _, __, output: other(output))
    before = state(model, other)
    checkup(model, data(), nn.CrossEntropyLoss())
    assert before == state(model, other)


def test_layers_of_a_loss_are_restored() -> None:
    network = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    before = state(network)

    def loss(output: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(network(output), targets)

    checkup(nn.Linear(4, 3), data(), loss)
    assert before == state(network)


class InEvaluation(nn.Module):
    """Runs its norm layer through a function, but only in evaluation."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.head = nn.BatchNorm1d(4), nn.Linear(4, 3)
        self.function: Any = Owner(self.norm).run

    def forward(self, x: Tensor) -> Any:
        return self.head((self.norm if self.training else self.function)(x))


def test_a_function_that_runs_only_in_evaluation() -> None:
    model = InEvaluation()
    before = state(model)
    report = checkup(model, data(), nn.CrossEntropyLoss())
    assert [each.test for each in report.failed] == []
    assert before == state(model)


elsewhere = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))


class Elsewhere(nn.Module):
    """Runs layers that only its module knows, in some modes."""

    def __init__(self, *modes: bool) -> None:
        super().__init__()
        self.head, self.modes = nn.Linear(4, 3), modes

    def forward(self, x: Tensor) -> Any:
        return self.head(elsewhere(x) if self.training in self.modes else x)


@pytest.mark.parametrize("modes", [[False], [True], [False, True]])
@pytest.mark.parametrize("batch", [None, data()])
def test_layers_that_only_the_code_names_are_restored(modes: list[bool], batch: Any) -> None:
    before = state(elsewhere)
    checkup(Elsewhere(*modes), batch)
    assert before == state(elsewhere)


class Scaling(nn.Module):
    """Holds its loss, which compares outputs at the scale of the last forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.head, self.scaled = nn.Linear(4, 3), Scaled()

    def forward(self, x: Tensor) -> Any:
        self.scaled.scale = 1 + x.abs().mean()
        return self.head(x)


class Scaled(nn.Module):
    scale: Tensor

    def forward(self, output: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(output / self.scale, targets)


def test_a_loss_may_need_what_the_model_left_in_it() -> None:
    model = Scaling()
    before = state(model)
    report = checkup(model, data(), lambda output, targets: model.scaled(output, targets))
    assert [each.test for each in report.failed] == []
    assert before == state(model)
    assert not hasattr(model.scaled, "scale")
    assert any("the model itself was run" in note for note in report.untested)
