"""The promise: training is what it is without us, whatever its model and its tools are."""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from math import nan
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

import sickbay
from tests.doctor.loops import backward, learn, undisturbed, watch
from tests.models import features, mlp

every_way = pytest.mark.parametrize("every", [1, "auto"])


def words(steps: int, every: Any) -> list[float]:
    """Train an embedding whose gradients become sparse halfway; return the losses."""
    torch.manual_seed(0)
    model = nn.Embedding(10, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = None if every is None else watch(model, optimizer, every=every)
    losses = []
    for step in range(steps):
        model.sparse = step >= steps // 2
        losses.append(learn(model, optimizer, torch.arange(16) % 10).item())
        if doctor is not None:
            doctor.step(losses[-1])
    assert doctor is None or undisturbed(doctor)
    return losses


@every_way
def test_gradients_may_become_sparse(every: Any) -> None:
    assert words(120, every) == words(120, None)


@every_way
def test_parameters_may_become_complex(every: Any) -> None:
    warnings.simplefilter("error")
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    doctor = watch(model, optimizer, every=every)
    inputs = features()
    for step in range(120):
        if step == 60:
            for parameter in model.parameters():
                parameter.data, parameter.grad = parameter.data.to(torch.complex64), None
            inputs = inputs.to(torch.complex64)
        optimizer.zero_grad()
        loss = model(inputs).abs().square().mean()
        backward(loss)
        optimizer.step()
        doctor.step(loss)
    assert undisturbed(doctor)
    assert doctor.history.step == 119


def test_an_optimizer_may_lose_its_groups() -> None:
    model = mlp()
    groups: list[dict[str, Any]] = [{"params": []}, {"params": list(model.parameters())}]
    optimizer = torch.optim.SGD(groups, lr=0.1)
    doctor = watch(model, optimizer)
    for step in range(6):
        if step == 3:
            optimizer.param_groups.clear()
        doctor.step(learn(model, optimizer, features()))
    assert undisturbed(doctor)


def with_a_bad_batch(watching: bool, everywhere: bool) -> tuple[list[float], Counter[str]]:
    """Train with a NaN in one batch and hooks that keep count; return the losses and the counts.

    The hooks change the outputs of layers by how often they were called, as sign-flipping ones do.
    """
    torch.manual_seed(0)
    model, seen = mlp(), Counter[str]()
    handles = []

    def before(*_: Any) -> None:
        seen["before"] += 1

    def after(_layer: nn.Module, _inputs: Any, output: Tensor) -> Tensor:
        seen["after"] += 1
        return output * (1 + seen["after"] % 3)

    for layer in [] if everywhere else model.modules():
        layer.register_forward_pre_hook(before)
        layer.register_forward_hook(after)
    if everywhere:
        hook: Any = after  # torch's types allow no hook that returns something
        handles = [register_module_forward_hook(hook), register_module_forward_pre_hook(before)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    doctor = watch(model, optimizer, every={"gradient": 1}) if watching else None
    losses = []
    for step in range(6):
        if step == 2:
            model[0].bias.data[0] = nan  # type: ignore[index]
        loss = learn(model, optimizer, features())
        losses.append(loss.item())
        if doctor is not None:
            doctor.step(loss)
    for handle in handles:
        handle.remove()
    assert doctor is None or [each.problem for each in doctor.findings] == ["non_finite"]
    return losses, seen


@pytest.mark.parametrize("everywhere", [False, True])
def test_locating_a_nan_is_seen_by_nobody(everywhere: bool) -> None:
    plain, watched = (with_a_bad_batch(each, everywhere) for each in (False, True))
    assert str(watched) == str(plain)  # NaN is not equal to itself


def test_locating_a_nan_leaves_modules_alone_that_a_copy_shares() -> None:
    norm = nn.BatchNorm1d(8)

    class Shares(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.norm, self.last = nn.Linear(8, 8), norm, nn.Linear(8, 1)
            self.apply_norm: Any = lambda value: norm(value)  # what a copy calls too

        def forward(self, value: Tensor) -> Tensor:
            found: Tensor = self.last(self.apply_norm(self.first(value)) / self.scale)
            return found

        scale = 1.0

    model = Shares()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    doctor = watch(model, optimizer, every={"gradient": 1})
    for step in range(4):
        model.scale = 0.0 if step == 3 else 1.0
        doctor.step(learn(model, optimizer, features()))
    assert int(norm.num_batches_tracked or 0) == 4
    assert doctor.findings


class Itself(nn.Linear):
    """A layer that is its own copy, as one that is frozen may be."""

    def __deepcopy__(self, _memo: object) -> Itself:
        return self


class Shallow(nn.Linear):
    """A layer whose copy has the same hooks."""

    def __deepcopy__(self, _memo: object) -> Shallow:
        return copy.copy(self)


@pytest.mark.parametrize("kind", [Itself, Shallow])
def test_locating_a_nan_leaves_hooks_alone_that_a_copy_shares(kind: type[nn.Linear]) -> None:
    layer = kind(8, 1)
    calls: list[int] = []
    layer.register_forward_hook(lambda *_: calls.append(1))
    model = nn.Sequential(layer)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    doctor = watch(model, optimizer, every={"gradient": 1})
    for step in range(4):
        if step == 2:
            layer.bias.data[0] = nan
        doctor.step(learn(model, optimizer, features()))
    doctor.close()
    assert doctor.findings
    assert len(calls) == 4
    assert len(layer._forward_hooks) == 1


def test_a_model_has_one_doctor() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plain = len(model._forward_hooks)
    doctors = [watch(model, optimizer) for _ in range(5)]
    hooks = len(model._forward_hooks)
    for _ in range(2):
        loss = learn(model, optimizer, features())
        assert [doctor.step(loss) for doctor in doctors] == [[]] * 5
    told = [[each.text for each in doctor.events if each.kind == "notice"] for doctor in doctors]
    assert ["watched already" in str(each) for each in told] == [False, True, True, True, True]
    assert doctors[-1].history.step == 1
    doctors[-1].close()
    assert len(model._forward_hooks) == plain < hooks <= plain + 2


def test_a_doctor_that_nobody_holds_makes_room_for_the_next() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        watch(model, optimizer)
    assert len(optimizer._optimizer_step_pre_hooks) == 1


class Untold(Exception):  # noqa: N818
    """An error that cannot be told."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_trouble_whose_error_has_no_text_is_still_reported() -> None:
    def fail(_finding: sickbay.Finding) -> None:
        raise Untold

    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = sickbay.watch(model, optimizer, on_finding=fail, every=1)
    learn(model, optimizer, features())
    doctor.step(nan)
    troubles = [each.text for each in doctor.events if each.kind == "trouble"]
    assert troubles == ["on_finding failed and is switched off (Untold)."]


@pytest.mark.parametrize("accumulated", [1, 20])
def test_an_optimizer_that_is_replaced_is_missed(accumulated: int) -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)

    def missed() -> bool:
        return any("another optimizer" in event.text for event in doctor.events)

    for call in range(10 * accumulated):
        backward(model(features()).square().mean())
        if call % accumulated == accumulated - 1:
            optimizer.step()
        doctor.step(1.0)
    assert not missed()
    for _ in range(max(64, 8 * accumulated)):
        doctor.step(1.0)
    assert missed()
