"""What batches show about the task."""

from collections.abc import Callable
from typing import Literal

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as f

import sickbay
from sickbay.doctor import Doctor

X = torch.randn(256, 10, generator=torch.Generator().manual_seed(0))
CLASSES = X[:, :4].argmax(1)


class Heads(nn.Module):
    """A classifier and a regression that share a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.classes, self.values = nn.Linear(10, 32), nn.Linear(32, 4), nn.Linear(32, 1)

    def forward(self, x: Tensor, head: Literal["classes", "values"]) -> Tensor:
        made: Tensor = getattr(self, head)(self.body(x).relu())
        return made


def watched(model: nn.Module, loss: Callable[[int], Tensor], steps: int) -> Doctor:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    doctor = sickbay.watch(model, optimizer, on_finding="silent", every=1)
    for step in range(steps):
        value = loss(step)
        optimizer.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(value)
    doctor.end()
    return doctor


@pytest.mark.parametrize("classes_first", [True, False])
def test_heads_in_turn(classes_first: bool) -> None:
    torch.manual_seed(0)
    model = Heads()

    def loss(step: int) -> Tensor:
        if (step % 2 == 0) is classes_first:
            return f.cross_entropy(model(X, "classes"), CLASSES)
        return f.mse_loss(model(X, "values"), X[:, 4:].sum(1, keepdim=True))

    doctor = watched(model, loss, 8)
    setup = doctor.history.setup
    known = ("cross_entropy", "multiclass") if classes_first else ("mse", "regression")
    assert (setup.loss, setup.task) == known
    assert len(doctor.history.recent("score", 8)) == 4
    assert not doctor.findings


@pytest.mark.parametrize("head", [nn.Identity(), nn.Sigmoid()])
@pytest.mark.parametrize("squeezed", [True, False])
def test_a_softmax_over_samples_is_no_cross_entropy(head: nn.Module, squeezed: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 1), head)
    wanted = X[:, 0].softmax(0)

    def loss(_step: int) -> Tensor:
        made = model(X)
        made, right = (made.squeeze(1), wanted) if squeezed else (made, wanted[:, None])
        value: Tensor = -(right * made.log_softmax(0)).sum()
        return value

    doctor = watched(model, loss, 5)
    assert not doctor.history.setup.loss
    assert not doctor.findings


def test_cross_entropy_over_a_single_unit_is_still_found() -> None:
    model = nn.Linear(10, 1)
    doctor = watched(model, lambda _: f.cross_entropy(model(X), 0 * CLASSES), 2)
    assert [each.problem for each in doctor.findings] == ["improper_loss"]


@pytest.mark.parametrize("several", [True, False])
def test_labels_are_judged_where_the_loss_has_one_term(several: bool) -> None:
    model, other = nn.Linear(10, 4), nn.Linear(10, 1)

    def loss(_step: int) -> Tensor:
        error = f.cross_entropy(model(X), CLASSES)
        return error + f.mse_loss(other(X), X[:, :1]) if several else 0.5 * error

    history = watched(model, loss, 3).history
    assert bool(history.recent("sure_errors", 3)) is not several


@pytest.mark.filterwarnings("error")
def test_inputs_that_require_a_gradient() -> None:
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

    def loss(_step: int) -> Tensor:
        x = torch.rand(64, 3, requires_grad=True)
        [slope] = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        return ((slope - 1) ** 2).mean()

    doctor = watched(model, loss, 3)
    assert not doctor.events
