"""Generators that want the same as their critic."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as f

import sickbay
from sickbay.findings import Finding
from sickbay.probe.critics import LARGEST, ROWS, Critics
from sickbay.probe.guard import Guard
from sickbay.probe.meter import Meter

Loss = Callable[[Tensor], Tensor]


def towards(label: float) -> Loss:
    return lambda judged: f.binary_cross_entropy_with_logits(judged, torch.full((16, 1), label))


def played(
    wanted: Loss,
    unwanted: Loss,
    passes: str = "two",
    penalty: float = 0.0,
    steps: int = 130,
    **settings: Any,
) -> list[Finding]:
    """Train a generator whose critic has the loss `unwanted` for its samples."""
    torch.manual_seed(0)
    generator, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    both = [torch.optim.Adam(each.parameters(), lr=1e-3) for each in (generator, critic)]
    doctor = sickbay.watch(generator, both[0], on_finding="silent", **settings)
    for _ in range(steps):
        both[1].zero_grad()
        real = torch.randn(16, 2) + 3
        loss = torch.zeros(()) if passes == "one" else towards(1.0)(critic(real))
        if passes == "apart":
            loss.backward()  # type: ignore[no-untyped-call]
            loss = loss.detach()
        made = generator(torch.randn(16, 3))
        if passes == "one":
            judged = critic(torch.cat([real, made.detach()]))
            loss = towards(1.0)(judged[:16]) + unwanted(judged[16:])
        else:
            loss = loss + unwanted(critic(made.detach()))
        if penalty:
            between = ((made.detach() + real) / 2).requires_grad_()
            [slope] = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
            loss = loss + penalty * (slope.norm(dim=1) - 1).square().mean()
        loss.backward()  # type: ignore[no-untyped-call]
        both[1].step()
        both[0].zero_grad()
        value = wanted(critic(made))
        value.backward()  # type: ignore[no-untyped-call]
        both[0].step()
        doctor.step(value)
    doctor.close()
    return [each for each in doctor.findings if each.problem == "improper_loss"]


ADVERSARIES: dict[str, tuple[Loss, Loss]] = {
    "bce": (towards(1.0), towards(0.0)),
    "minimax": (lambda judged: f.logsigmoid(-judged).mean(), towards(0.0)),
    "hinge": (lambda judged: -judged.mean(), lambda judged: f.relu(1 + judged).mean()),
    "squares": (lambda judged: (judged - 1).pow(2).mean(), lambda judged: judged.pow(2).mean()),
    "wasserstein": (lambda judged: -judged.mean(), lambda judged: judged.mean()),
}


@pytest.mark.parametrize("losses", ADVERSARIES.values(), ids=ADVERSARIES)
def test_adversaries(losses: tuple[Loss, Loss]) -> None:
    assert not played(*losses)


ACCOMPLICES: dict[str, tuple[Loss, Loss]] = {
    "the-label-of-fakes": (towards(0.0), towards(0.0)),
    "the-wrong-sign": (lambda judged: judged.mean(), lambda judged: judged.mean()),
}


@pytest.mark.parametrize("losses", ACCOMPLICES.values(), ids=ACCOMPLICES)
def test_accomplices(losses: tuple[Loss, Loss]) -> None:
    [finding] = played(*losses)
    assert "critic" in finding.message


@pytest.mark.parametrize(("steps", "found"), [(102, 1), (99, 0)])
def test_every_step_is_read(steps: int, found: int) -> None:
    assert len(played(towards(0.0), towards(0.0), steps=steps, every=1)) == found


def test_a_penalty_on_the_gradients_of_the_critic() -> None:
    def mean(judged: Tensor) -> Tensor:
        return judged.mean()

    assert played(mean, mean, penalty=10.0)
    assert not played(lambda judged: -judged.mean(), mean, penalty=10.0)


@pytest.mark.parametrize("passes", ["one", "apart"])
def test_made_and_real_samples(passes: str) -> None:
    assert played(towards(0.0), towards(0.0), passes=passes)
    assert not played(towards(1.0), towards(0.0), passes=passes)


def test_a_model_without_a_critic() -> None:
    model = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    doctor = sickbay.watch(model, optimizer, on_finding="silent")
    for _ in range(5):
        optimizer.zero_grad()
        loss = model(torch.randn(16, 3)).square().mean()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    doctor.close()
    assert not doctor.history.recent("critic_agrees", 9)


def test_an_actor_that_is_asked_for_single_states_between_its_steps() -> None:
    actor, critic = nn.Linear(3, 1), nn.Linear(1, 1)
    optimizer = torch.optim.Adam([*actor.parameters()], lr=1e-3)
    doctor = sickbay.watch(actor, optimizer, every=1, on_finding="silent")
    for _ in range(5):
        actor(torch.randn(3))
        states = torch.randn(16, 3)
        (critic(torch.randn(16, 1)) - torch.ones(16, 1)).square().mean().backward()
        loss = -critic(actor(states)).mean()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    doctor.close()
    assert [event for event in doctor.events if event.kind == "trouble"] == []


def test_samples_of_a_long_rollout_are_not_all_kept() -> None:
    model = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    doctor = sickbay.watch(model, optimizer, every=1, on_finding="silent")
    made = [model(torch.randn(4, 3)) for _ in range(20)]
    kept = [weakref.ref(each.untyped_storage()) for each in made]
    del made
    gc.collect()
    assert sum(each() is not None for each in kept) == 1  # the newest output
    doctor.close()
    gc.collect()
    assert not any(each() is not None for each in kept)


def a_loss_and_samples() -> tuple[Critics, Tensor, nn.Module]:
    model, critics = nn.Linear(3, 2), Critics(Guard(print), Meter())
    samples = model(torch.randn(4, 3))
    critics.made(samples)
    assert critics._samples
    return critics, samples, model


def test_samples_are_let_go_once_a_loss_has_no_critic() -> None:
    critics, samples, model = a_loss_and_samples()
    critics.listen(samples.square().mean().grad_fn, samples.grad_fn, model)
    assert not critics._samples


def test_samples_of_many_values_are_not_kept() -> None:
    critics, _, _ = a_loss_and_samples()
    critics.forget()
    critics.made(torch.zeros(4, LARGEST // ROWS + 1))
    assert not critics._samples


def designed(unsure: float, steps: int = 60) -> list[float]:
    """Train a designer beside a model that learns true values; return when both agreed."""
    torch.manual_seed(0)
    designer, values = nn.Linear(8, 4), nn.Linear(4, 1)
    both = [torch.optim.Adam(each.parameters(), lr=1e-3) for each in (designer, values)]
    doctor = sickbay.watch(designer, both[0], every=1, on_finding="silent")
    for _ in range(steps):
        designs = designer(torch.randn(64, 8))
        tried = torch.cat([designs.detach(), torch.randn(64, 4)])
        both[1].zero_grad()
        truth = 15 + unsure * torch.randn(128, 1)
        f.mse_loss(values(tried), truth).backward()  # type: ignore[no-untyped-call]
        both[1].step()
        both[0].zero_grad()
        loss = -values(designs).mean()
        loss.backward()
        both[0].step()
        doctor.step(loss)
    doctor.close()
    return doctor.history.recent("critic_agrees", steps)


@pytest.mark.parametrize("unsure", [pytest.param(0.0, id="all-up"), pytest.param(30.0, id="mixed")])
def test_a_model_of_true_values_is_no_critic(unsure: float) -> None:
    assert designed(unsure) == [0.0]
