"""Outputs that the loss cuts off at 0 and 1."""

from collections.abc import Callable
from math import isnan

import pytest
import torch
from torch import Tensor

from sickbay.history import History
from sickbay.probe.cut_off import share_cut_off
from sickbay.problems import ImproperOutput

YES = torch.arange(90) % 2 == 0


def found(loss: Callable[[Tensor], Tensor], low: float = -1, high: float = 2) -> float:
    outputs = torch.linspace(low, high, 90, requires_grad=True)
    loss(outputs).sum().backward()  # type: ignore[no-untyped-call]
    assert outputs.grad is not None
    return share_cut_off(outputs.detach(), outputs.grad)


def log_loss(outputs: Tensor) -> Tensor:
    share = outputs.clamp(1e-6, 1 - 1e-6)
    return -torch.where(YES, share.log(), (1 - share).log())


def hinge(outputs: Tensor) -> Tensor:
    return (1 - torch.where(YES, outputs, -outputs)).relu()


def test_a_clamp_is_seen() -> None:
    assert found(log_loss) == pytest.approx(2 / 3, abs=0.02)


@pytest.mark.parametrize(
    "loss",
    [hinge, torch.square, torch.sigmoid, torch.relu, lambda outputs: outputs.clamp(-0.5, 1.5)],
)
def test_other_losses(loss: Callable[[Tensor], Tensor]) -> None:
    assert found(loss) == 0.0


def test_no_gradient_at_all() -> None:
    assert found(lambda outputs: 0 * outputs) == 0.0


def test_outputs_far_below_0_tell_nothing() -> None:
    outputs = torch.cat([torch.linspace(-3, -0.5, 30), torch.linspace(0, 2, 60)])
    gradient = ((outputs > 0) & (outputs < 1)).float()
    assert isnan(share_cut_off(outputs, gradient))


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 2.0), (2.0, 3.0)])
def test_not_enough_outputs_on_all_sides(low: float, high: float) -> None:
    assert isnan(found(log_loss, low, high))


def test_logarithms_need_no_outputs_above_1() -> None:
    assert found(log_loss, -1, 0.9) == pytest.approx(0.53, abs=0.02)


@pytest.mark.parametrize("loss", [torch.relu, hinge, lambda outputs: outputs.relu().square()])
def test_other_losses_need_outputs_above_1(loss: Callable[[Tensor], Tensor]) -> None:
    assert isnan(found(loss, -0.9, 0.9))


@pytest.mark.parametrize(
    ("shares", "expected"),
    [([0.11] * 3, True), ([0.1] * 3, False), ([0.9] * 2, False), ([0.9, 0.0, 0.9], False)],
)
def test_check(shares: list[float], expected: bool) -> None:
    assert bool(ImproperOutput().check(History(cut_off=shares))) is expected
