"""How hard the terms of a loss pull where they meet."""

from collections.abc import Callable
from typing import Literal

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as f

import sickbay
from sickbay.history import History
from sickbay.problems import ImproperLoss

X = torch.randn(64, 12, generator=torch.Generator().manual_seed(0))
Loss = Callable[[nn.Module], Tensor]


class Coder(nn.Module):
    """A small variational autoencoder."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(12, 6), nn.Linear(3, 12)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, spread = self.inner(x).chunk(2, dim=1)
        return self.outer(mean + torch.randn_like(mean) * (spread / 2).exp()), mean, spread


def divergence(mean: Tensor, spread: Tensor) -> Tensor:
    value: Tensor = -0.5 * (1 + spread - mean**2 - spread.exp()).sum()
    return value


def coded(summed: bool) -> Loss:
    def loss(model: nn.Module) -> Tensor:
        made, mean, spread = model(X)
        rebuilt: Tensor = ((made - X) ** 2).sum() if summed else ((made - X) ** 2).mean()
        return rebuilt + divergence(mean, spread)

    return loss


def penalised(factor: float) -> Loss:
    def loss(model: nn.Module) -> Tensor:
        size = sum(each.abs().sum() for each in model.parameters())
        value: Tensor = f.mse_loss(model(X), X[:, :6]) + factor * size
        return value

    return loss


def two_errors(factor: float) -> Loss:
    def loss(model: nn.Module) -> Tensor:
        both = model(X)
        return factor * f.mse_loss(both[:, :3], X[:, :3]) + f.cross_entropy(
            both[:, 3:], X[:, :3].argmax(1)
        )

    return loss


def likelihood(model: nn.Module) -> Tensor:
    mean, spread = model(X).chunk(2, dim=1)
    errors = (X[:, :3] - mean) ** 2
    value: Tensor = 0.5 * (spread + errors / spread.exp()).mean()
    return value


def surprise(model: nn.Module) -> Tensor:
    made, ratio = model(X).chunk(2, dim=1)
    others = -torch.exp(-((X[:, 3:6] - ratio) ** 2)).mean()
    return f.mse_loss(made, X[:, :3]) + 1e3 * others


def slope_of_slopes(model: nn.Module) -> Tensor:
    x = X.clone().requires_grad_()
    made = model(x)
    [slope] = torch.autograd.grad(made.sum(), x, create_graph=True)
    value: Tensor = (slope.norm(dim=1) - 1).pow(2).mean() + 1e3 * made.mean()
    return value


def readings(
    model: nn.Module, loss: Loss, steps: int = 4, every: int | Literal["auto"] = "auto"
) -> History:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    doctor = sickbay.watch(model, optimizer, on_finding="silent", every=every)
    for _ in range(steps):
        value = loss(model)
        optimizer.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(value)
    doctor.close()
    return doctor.history


@pytest.mark.parametrize("summed", [False, True])
def test_a_divergence_that_is_summed_drowns_an_error_that_is_averaged(summed: bool) -> None:
    torch.manual_seed(0)
    history = readings(Coder(), coded(summed))
    pulls = history.recent("side_pull", 9)
    assert len(pulls) == 3  # later ones are rare
    assert (min(pulls) > 25) is not summed
    history.ended = True
    assert bool(ImproperLoss().check(history)) is not summed


@pytest.mark.parametrize(("factor", "expected"), [(1e-5, False), (10.0, True)])
def test_a_penalty_on_the_weights(factor: float, expected: bool) -> None:
    torch.manual_seed(0)
    pulls = readings(nn.Linear(12, 6), penalised(factor)).recent("side_pull", 3)
    assert [pull > 4 for pull in pulls] == 3 * [expected]


def test_the_pull_of_a_term_is_that_of_its_gradient() -> None:
    torch.manual_seed(0)
    model = nn.Linear(12, 6)
    error, size = f.mse_loss(model(X), X[:, :6]), model.weight.abs().sum() + model.bias.abs().sum()
    norms = [
        torch.cat([each.flatten() for each in torch.autograd.grad(term, [*model.parameters()])])
        for term in (error, 0.1 * size)
    ]
    [pull, *_] = readings(model, penalised(0.1)).recent("side_pull", 3)
    assert pull == pytest.approx(float(norms[1].norm() / norms[0].norm()), rel=1e-4)


@pytest.mark.parametrize(("factor", "expected"), [(1e-5, True), (1.0, False)])
def test_an_error_with_a_tiny_weight_is_told_at_the_end(factor: float, expected: bool) -> None:
    torch.manual_seed(0)
    history = readings(nn.Linear(12, 6), two_errors(factor))
    assert len(history.recent("least_pull", 9)) == 3
    history.ended = True
    finding = ImproperLoss().check(history)
    assert (finding is not None) is expected
    assert finding is None or finding.severity == "info"


@pytest.mark.parametrize("loss", [likelihood, surprise])
def test_an_error_inside_another_term_is_left_alone(loss: Loss) -> None:
    model = nn.Sequential(nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 6))
    history = readings(model, loss)
    assert not history.recent("side_pull", 3)
    assert not history.recent("least_pull", 3)


def test_a_difference_from_earlier_weights_is_no_error() -> None:
    torch.manual_seed(0)
    model = nn.Linear(12, 6)
    old = [each.detach().clone() for each in model.parameters()]

    def loss(model: nn.Module) -> Tensor:
        moved = sum(((p - q) ** 2).sum() for p, q in zip(model.parameters(), old, strict=True))
        value: Tensor = f.mse_loss(model(X), X[:, :6]) + 1e-3 * moved
        return value

    history = readings(model, loss)
    first, *later = history.recent("side_pull", 9)
    assert first == 0 < min(later)
    assert not history.recent("least_pull", 9)


def test_later_readings_are_ever_rarer() -> None:
    history = readings(nn.Linear(12, 6), penalised(0.1), steps=60, every=1)
    assert [step for step, _ in history.timed("side_pull", 99)] == [0, 1, 2, 5, 9, 14, 21, 31, 45]


def test_a_penalty_that_ends() -> None:
    torch.manual_seed(0)

    def loss(model: nn.Module) -> Tensor:
        made = model(X)
        return f.mse_loss(made, X[:, :6].exp()) + 1000 * f.relu(-made).mean()

    history = readings(nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 6)), loss, 150)
    pulls = history.recent("side_pull", 99)
    assert min(pulls[:3]) > 25 > pulls[-1]


def test_gradients_of_gradients_are_left_alone() -> None:
    model = nn.Sequential(nn.Linear(12, 6), nn.Tanh(), nn.Linear(6, 1))
    assert not readings(model, slope_of_slopes).recent("side_pull", 3)


def test_a_single_term_has_none() -> None:
    history = readings(nn.Linear(12, 6), lambda model: f.mse_loss(model(X), X[:, :6]))
    assert not history.recent("side_pull", 3)
    assert not history.recent("least_pull", 3)
