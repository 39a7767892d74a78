"""A checkup changes nothing that is the user's."""

import copy
import random

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from sickbay.checkups import checkup
from tests.checkups.small_network import data, network


class Uncopied(nn.Module):
    """Cannot be copied, so that it is examined itself."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = network()

    def __deepcopy__(self, _memo: object) -> "Uncopied":
        raise RuntimeError("no copies")

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(x)
        return out


@pytest.mark.parametrize("build", [network, Uncopied])
def test_everything_is_unchanged(build: type[nn.Module]) -> None:
    model = build()
    x, y = data()
    optimizer = torch.optim.Adam(model.parameters())
    model(x).sum().backward()
    optimizer.step()
    model.eval()
    next(iter(model.modules())).train()
    [parameter, *_] = model.parameters()
    before = copy.deepcopy(model.state_dict())
    gradients = [None if each.grad is None else each.grad.clone() for each in model.parameters()]
    modes = [module.training for module in model.modules()]
    states = copy.deepcopy(optimizer.state_dict())
    randoms = torch.get_rng_state(), np.random.get_state()[1], random.getstate()  # type: ignore[index]
    kept = x.clone(), y.clone()
    checkup(model, (x, y), nn.CrossEntropyLoss(), optimizer, tests="all")
    assert all(before[name].equal(value) for name, value in model.state_dict().items())
    for each, old in zip(model.parameters(), gradients, strict=True):
        assert (each.grad is None) is (old is None)
        assert old is None or (each.grad is not None and each.grad.equal(old))
        assert each.requires_grad
    assert modes == [module.training for module in model.modules()]
    assert str(states) == str(optimizer.state_dict())
    assert randoms[0].equal(torch.get_rng_state())
    assert np.array_equal(randoms[1], np.random.get_state()[1])  # type: ignore[index]
    assert randoms[2] == random.getstate()
    assert kept[0].equal(x)
    assert kept[1].equal(y)
    assert parameter is next(model.parameters())


def test_the_generator_of_a_loader_is_unchanged() -> None:
    generator = torch.Generator().manual_seed(5)
    loader = DataLoader(TensorDataset(*data()), 16, shuffle=True, generator=generator)
    before = generator.get_state()
    report = checkup(network(), loader, tests="runs_on_the_batch")
    assert report.ok
    assert before.equal(generator.get_state())


class Busy(nn.Module):
    """Cannot be copied, and changes all that it holds in every pass."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.seen: Tensor
        self.register_buffer("seen", torch.zeros(3))
        self.passes, self.outputs = 0, [0.0]
        self.chance = torch.Generator().manual_seed(3)

    def __deepcopy__(self, _memo: object) -> "Busy":
        raise RuntimeError("no copies")

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x)
        self.seen = self.seen + out.detach().mean(0)
        self.passes += 1
        self.outputs.append(out.sum().item())
        torch.rand(1, generator=self.chance)
        return out


def test_a_model_that_cannot_be_copied_is_restored_with_all_it_holds() -> None:
    model = Busy()
    hook = model.register_forward_hook(lambda *_: None)
    numbers = model.chance.get_state()
    checkup(model, data(), nn.CrossEntropyLoss())
    assert (model.passes, model.outputs) == (0, [0.0])
    assert not model.seen.any()
    assert model.chance.get_state().equal(numbers)
    assert list(model._forward_hooks) == [hook.id]
    assert not any(module._forward_pre_hooks for module in model.modules())
    assert all(not vars(each) for each in model.parameters())


class Counting(nn.Module):
    """A loss with a weight and a buffer of its own, that also reaches the model."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.calls: Tensor
        self.register_buffer("calls", torch.zeros(()))
        self.others = list(model.parameters())

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        self.calls += 1
        decay = sum((each.square().sum() for each in self.others), torch.zeros(()))
        return self.scale * nn.functional.cross_entropy(outputs, targets) + 1e-4 * decay


def test_a_loss_and_what_it_reaches_are_unchanged() -> None:
    model = network()
    loss = Counting(model)
    checkup(model, data(), loss)
    assert not loss.calls
    assert loss.scale.grad is None

    def decayed(outputs: Tensor, targets: Tensor) -> Tensor:
        return loss.forward(outputs, targets)

    checkup(model, data(), decayed)
    assert all(each.grad is None for each in model.parameters())


def test_inference_mode_and_autocast_around_it_do_not_matter() -> None:
    model, batch = network(), data()
    with torch.inference_mode(), torch.autocast("cpu"):
        report = checkup(model, batch, nn.CrossEntropyLoss())
    assert [each.test for each in report.failed] == []
