"""Whatever a model or a loss holds is as it was, whatever was done to it."""

import random
from collections import OrderedDict, deque
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.checkups import checkup
from sickbay.checkups.restore_model import restored
from tests.checkups.small_network import data


class Counter:
    passes = 0


class Hoarder(nn.Module):
    """Holds its layer in a function, so that it is examined itself, and changes all it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.head = layer = nn.Linear(4, 3)
        seen = 0

        def run(x: Tensor) -> Any:
            nonlocal seen
            seen += 1
            return layer(x)

        def passes() -> int:
            return seen

        self.run, self.passes = run, passes
        self.mean, self.newest = torch.zeros(3), torch.zeros(2, 4)
        self.recent: deque[float] = deque(maxlen=3)
        self.nested: dict[str, Any] = {"a": [OrderedDict(b={1})]}
        self.numbers, self.counter = np.zeros(3), Counter()
        self.draws = np.random.default_rng(0), random.Random(0), np.random.RandomState(0)

    def forward(self, x: Tensor) -> Any:
        out = self.run(x)
        self.mean.mul_(0.9).add_(out.detach().mean(0))
        self.newest.resize_(x.shape).copy_(x.detach())
        self.recent.append(out.sum().item())
        self.nested["a"][0]["b"].add(len(self.nested["a"][0]["b"]) + 1)
        self.nested["a"].append(3)
        self.numbers += 1
        self.counter.passes += 1
        bits, python, numpy = self.draws
        bits.random(), python.random(), numpy.rand()
        return out

    def state(self) -> Any:
        """Return all that it holds, as text."""
        bits, python, numpy = self.draws
        drawn = bits.bit_generator.state, python.getstate(), numpy.get_state()
        held = self.mean, self.newest, self.recent, self.nested, self.numbers
        return str((held, self.counter.passes, self.passes(), drawn))


def test_all_that_a_model_holds_is_restored() -> None:
    model = Hoarder()
    held = [model.nested, model.recent, model.newest]
    before = model.state()
    report = checkup(model, data(), nn.CrossEntropyLoss())
    assert [each.test for each in report.failed] == []
    assert model.state() == before
    assert [model.nested, model.recent, model.newest] == held
    assert all(map(lambda one, other: one is other, held, [model.nested, model.recent]))


class Recording(nn.Module):
    """Has a loss of its own that changes it."""

    def __init__(self) -> None:
        super().__init__()
        self.head, self.losses = nn.Linear(4, 3), [0.0]
        self.mean: Tensor
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x: Tensor) -> Any:
        return self.head(x)

    def loss(self, output: Tensor, targets: Tensor) -> Tensor:
        found = F.cross_entropy(output, targets)
        self.losses.append(found.item())
        if len(self.losses) % 2:
            self.mean = self.mean + output.detach().mean(0)
        return found


class Calls:
    def __init__(self, model: Recording) -> None:
        self.model, self.count = model, torch.zeros(())

    def __call__(self, output: Tensor, targets: Tensor) -> Tensor:
        self.count += 1
        return self.model.loss(output, targets)


@pytest.mark.parametrize(
    "loss_of",
    [
        pytest.param(lambda model: model.loss, id="method"),
        pytest.param(lambda model: lambda o, y: model.loss(o, y), id="closure"),
        pytest.param(lambda model: lambda o, y, m=model: m.loss(o, y), id="default"),
        pytest.param(Calls, id="object"),
    ],
)
def test_a_loss_that_changes_the_model(loss_of: Any) -> None:
    model = Recording()
    loss = loss_of(model)
    report = checkup(model, data(), loss)
    assert not report.failed
    assert model.losses == [0.0]
    assert not model.mean.any()
    assert not getattr(loss, "count", torch.zeros(())).any()
    assert any("the model itself was run" in note for note in report.untested)


class Moving:
    """A loss that counts in a tensor, a list and an attribute."""

    def __init__(self, **others: Any) -> None:
        self.mean, self.all, self.count = torch.zeros(()), [0.0], 0
        vars(self).update(others)

    def __call__(self, output: Tensor, targets: Tensor) -> Tensor:
        found = F.cross_entropy(output, targets)
        self.mean.add_(found.detach())
        self.all.append(found.item())
        self.count += 1
        return found


class Normed(nn.Module):
    """A loss with a layer, and with something that cannot be copied."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.numbers = nn.BatchNorm1d(3), (each for each in range(3))

    def forward(self, output: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(self.norm(output), targets)


@pytest.mark.parametrize("others", [{}, {"numbers": (each for each in range(3))}])
def test_a_loss_that_is_an_object_is_unchanged(others: dict[str, Any]) -> None:
    loss = Moving(**others)
    checkup(nn.Linear(4, 3), data(), loss)
    assert (loss.mean.item(), loss.all, loss.count) == (0, [0.0], 0)


def test_a_loss_that_cannot_be_copied_is_restored() -> None:
    loss = Normed()
    before = str(loss.state_dict())
    checkup(nn.Linear(4, 3), data(), loss)
    assert str(loss.state_dict()) == before


def test_what_a_function_of_a_model_records_elsewhere_is_restored() -> None:
    model, outputs = nn.Linear(4, 3), [1]
    model.register_forward_hook(lambda _, __, output: outputs.append(output))
    report = checkup(model, data(), nn.CrossEntropyLoss())
    assert outputs == [1]
    assert not any("the model itself was run" in note for note in report.untested)


def test_tensors_of_every_kind_are_restored() -> None:
    whole = torch.zeros(4)
    with torch.inference_mode():
        inferred = torch.zeros(2)
    one = nn.Parameter(torch.zeros(2))
    held = [whole[:2], torch.zeros(1).expand(3), inferred, one, torch.eye(2).to_sparse(), one.data]
    changed = torch.zeros(2)
    with restored([held, changed]):
        whole += 1
        with torch.inference_mode():
            inferred += 1
        one.data = torch.ones(3, dtype=torch.float64)
        one.requires_grad_(False)
        changed.mul_(nn.Parameter(torch.ones(2)))
    assert not whole.any()
    assert not inferred.any()
    assert (one.dtype, one.tolist(), one.requires_grad) == (torch.float32, [0, 0], True)
    assert one.data_ptr() == held[-1].data_ptr()
    assert changed.is_leaf
    assert not changed.requires_grad
