"""Loops as people write them. All is well in most of them, so nothing is said."""

from collections.abc import Callable
from math import pi

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.doctor import Doctor
from tests.doctor.loops import backward, undisturbed, watch

Loop = Callable[[], list[Doctor]]


class LastState(nn.Module):
    def __init__(self, inputs: int, both: bool) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, 16, batch_first=True, bidirectional=both)
        self.head = nn.Linear(32 if both else 16, 1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.lstm(x)[0][:, -1])
        return out


def fitted(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    optimizer: torch.optim.Optimizer,
    loss: Callable[[Tensor, Tensor], Tensor] = F.mse_loss,
    steps: int = 150,
) -> list[Doctor]:
    doctor = watch(model, optimizer)
    for _ in range(steps):
        rows = torch.randint(len(x), (32,))
        optimizer.zero_grad()
        value = loss(model(x[rows]), y[rows])
        backward(value)
        optimizer.step()
        doctor.step(value)
    return [doctor]


def adam(model: nn.Module, rate: float = 1e-2) -> torch.optim.Optimizer:
    return torch.optim.Adam(model.parameters(), lr=rate)


def sequences_of_one() -> list[Doctor]:
    wave = torch.arange(0, 60, 0.1).sin()
    model = LastState(1, both=False)
    return fitted(model, wave[:-1].view(-1, 1, 1), wave[1:].view(-1, 1), adam(model))


def both_directions_at_the_last_step() -> list[Doctor]:
    x, model = torch.randn(300, 6, 3), LastState(3, both=True)
    return fitted(model, x, x.mean((1, 2)).unsqueeze(1), adam(model))


def lbfgs() -> list[Doctor]:
    x = torch.randn(200, 5)
    y, model = x @ torch.randn(5, 1), nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.LBFGS(model.parameters(), lr=1, line_search_fn="strong_wolfe")
    doctor = watch(model, optimizer)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        backward(loss)
        return loss

    for _ in range(10):
        doctor.step(optimizer.step(closure))  # type: ignore[no-untyped-call]
    return [doctor]


def a_line_through_raw_numbers() -> list[Doctor]:
    x = torch.linspace(2, 11, 15).unsqueeze(1)
    model = nn.Linear(1, 1)
    nn.init.constant_(model.weight, 1e-3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    return fitted(model, x, 0.25 * x + 0.8 + 0.3 * torch.randn(15, 1), optimizer)


def polynomial_features() -> list[Doctor]:
    x = torch.rand(400, 1) * 6 - 3
    model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
    powers = torch.cat([x**power for power in range(1, 6)], 1)
    return fitted(model, powers, x.sin(), adam(model, 1e-3))


def pixels_and_batch_norm() -> list[Doctor]:
    y = torch.randint(0, 4, (500,))
    x = torch.rand(500, 16) * 100 + 150 * F.one_hot(y, 16)
    model = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 4))
    return fitted(model, x, y, adam(model), F.cross_entropy)


def a_hinge_that_all_satisfy() -> list[Doctor]:
    y = torch.randint(0, 2, (200,)) * 2.0 - 1
    x = 0.3 * torch.randn(200, 2) + 2 * y.unsqueeze(1)
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))

    def hinge(output: Tensor, target: Tensor) -> Tensor:
        return (1 - target * output.squeeze(1)).clamp(min=0).mean()

    return fitted(model, x, y, adam(model), hinge, steps=250)


def an_actor_and_a_critic() -> list[Doctor]:
    last = nn.Linear(32, 2)
    actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), last)
    critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
    nn.init.orthogonal_(last.weight, 1e-4)
    nn.init.zeros_(last.bias)
    model = nn.ModuleList([actor, critic])
    optimizer = adam(model, 1e-3)
    doctor = watch(model, optimizer)
    for _ in range(150):
        states = torch.randn(64, 4)
        choice = torch.distributions.Categorical(logits=actor(states))
        actions = choice.sample()  # type: ignore[no-untyped-call]
        rewards = 30 + (actions == (states[:, 0] > 0)).float() + 10 * states[:, 1]
        gain = rewards - critic(states).squeeze(1)
        scaled = (gain - gain.mean()).detach() / gain.std().detach()
        chosen = choice.log_prob(actions)  # type: ignore[no-untyped-call]
        loss = 0.1 * gain.square().mean() - (chosen * scaled).mean()
        optimizer.zero_grad()
        backward(loss)
        optimizer.step()
        doctor.step(loss)
    return [doctor]


def a_gan_with_a_loss_for_each_label() -> list[Doctor]:
    generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    makes, judges = adam(generator, 1e-3), adam(critic, 1e-3)
    doctors = [watch(critic, judges), watch(generator, makes)]
    ones, zeros, bce = torch.ones(64, 1), torch.zeros(64, 1), F.binary_cross_entropy_with_logits
    for _ in range(150):
        angle = 2 * pi * torch.rand(64)
        fake = generator(torch.randn(64, 4))
        judges.zero_grad()
        backward(bce(critic(torch.stack([angle.cos(), angle.sin()], 1)), ones))
        loss = bce(critic(fake.detach()), zeros)
        backward(loss)
        judges.step()
        doctors[0].step(loss)
        makes.zero_grad()
        loss = bce(critic(fake), ones)
        backward(loss)
        makes.step()
        doctors[1].step(loss)
    return doctors


def a_relativistic_gan_whose_generator_moves_first() -> list[Doctor]:
    generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    makes, judges, bce = adam(generator, 1e-3), adam(critic, 1e-3), nn.BCEWithLogitsLoss()
    doctors, ones, zeros = [watch(critic, judges)], torch.ones(64, 1), torch.zeros(64, 1)
    for _ in range(60):
        angle = 2 * pi * torch.rand(64)
        real, fake = torch.stack([angle.cos(), angle.sin()], 1), generator(torch.randn(64, 4))
        makes.zero_grad()
        backward(bce(critic(fake), ones))
        makes.step()
        judges.zero_grad()
        on_real, on_fake = critic(real), critic(fake.detach())
        loss = bce(on_real - on_fake.mean(), ones) + bce(on_fake - on_real.mean(), zeros)
        backward(loss)
        judges.step()
        doctors[0].step(loss)
    return doctors


def a_clipped_critic_that_is_linear() -> list[Doctor]:
    """All samples of the generator get the same gradient, and the loop tells the loss's value."""
    generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    critic = nn.Linear(2, 1)
    makes, judges = adam(generator, 1e-3), adam(critic, 1e-3)
    doctor = watch(generator, makes)
    for _ in range(60):
        real, fake = torch.randn(64, 2) + 3, generator(torch.randn(64, 4))
        judges.zero_grad()
        backward(critic(fake.detach()).mean() - critic(real).mean())
        judges.step()
        makes.zero_grad()
        loss = -critic(fake).mean()
        backward(loss)
        makes.step()
        doctor.step(loss.item())
    return [doctor]


@pytest.mark.parametrize(
    "loop",
    [
        sequences_of_one,
        both_directions_at_the_last_step,
        lbfgs,
        a_line_through_raw_numbers,
        polynomial_features,
        pixels_and_batch_norm,
        a_hinge_that_all_satisfy,
        an_actor_and_a_critic,
        a_gan_with_a_loss_for_each_label,
        a_relativistic_gan_whose_generator_moves_first,
        a_clipped_critic_that_is_linear,
    ],
)
def test_nothing_is_wrong(loop: Loop) -> None:
    torch.manual_seed(0)
    for doctor in loop():
        doctor.close()
        assert [str(each) for each in doctor.findings if each.severity != "info"] == []
        assert undisturbed(doctor)


def cut(kind: str, output: Tensor, y: Tensor) -> Tensor:
    if kind == "argmax":
        return F.l1_loss(output.argmax(1).float().requires_grad_(), y.float())
    if kind == "detach":
        return F.cross_entropy(output.detach().requires_grad_(), y)
    return torch.tensor(F.cross_entropy(output, y).item(), requires_grad=True)


@pytest.mark.parametrize("kind", ["argmax", "detach", "item"])
def test_a_loss_that_does_not_depend_on_the_model(kind: str) -> None:
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 3))
    x = torch.randn(200, 3)
    loss = lambda output, y: cut(kind, output, y)  # noqa: E731
    (doctor,) = fitted(model, x, x.argmax(1), adam(model), loss, steps=20)
    doctor.close()
    assert [each.problem for each in doctor.findings] == ["frozen_by_accident"]
    assert undisturbed(doctor)


def test_a_model_that_is_frozen_on_the_way() -> None:
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer, x = adam(model), torch.randn(32, 3)
    doctor = watch(model, optimizer)
    for step in range(20):
        model.requires_grad_(step < 5)
        loss = model(x).square().mean()
        if step < 5:
            optimizer.zero_grad()
            backward(loss)
        optimizer.step()
        doctor.step(loss)
        doctor.epoch()
    doctor.close()
    assert doctor.findings == []
    assert undisturbed(doctor)


def test_a_nan_among_raw_numbers_is_named_too() -> None:
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    x = 9e3 * torch.rand(200, 3)
    x[::5] = torch.nan
    (doctor,) = fitted(model, x, torch.rand(200, 1), adam(model), steps=20)
    doctor.close()
    assert {each.problem for each in doctor.findings} >= {"non_finite", "unnormalised_input"}
