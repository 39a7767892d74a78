"""Generators that want the same as their critic."""

import gc
import weakref
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as f

import sickbay
from sickbay.findings import Finding
from sickbay.probe.critics import PASSES

Loss = Callable[[Tensor], Tensor]


def towards(label: float) -> Loss:
    return lambda judged: f.binary_cross_entropy_with_logits(judged, torch.full((16, 1), label))


def played(wanted: Loss, unwanted: Loss, joined: bool = False, steps: int = 130) -> list[Finding]:
    """Train a generator whose critic has the loss `unwanted` for its samples."""
    torch.manual_seed(0)
    generator, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    both = [torch.optim.Adam(each.parameters(), lr=1e-3) for each in (generator, critic)]
    doctor = sickbay.watch(generator, both[0], on_finding="silent")
    for _ in range(steps):
        made, real = generator(torch.randn(16, 3)), torch.randn(16, 2) + 3
        both[1].zero_grad()
        if joined:
            judged = critic(torch.cat([real, made.detach()]))
            loss = towards(1.0)(judged[:16]) + unwanted(judged[16:])
        else:
            loss = towards(1.0)(critic(real)) + unwanted(critic(made.detach()))
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
    "all-real": (towards(1.0), towards(0.9)),
}


@pytest.mark.parametrize("losses", ACCOMPLICES.values(), ids=ACCOMPLICES)
def test_accomplices(losses: tuple[Loss, Loss]) -> None:
    [finding] = played(*losses)
    assert "critic" in finding.message


def test_made_and_real_samples_in_one_batch() -> None:
    assert played(towards(0.0), towards(0.0), joined=True)
    assert not played(towards(1.0), towards(0.0), joined=True)


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
    assert sum(each() is not None for each in kept) <= PASSES + 1  # and the newest output
    doctor.close()
    gc.collect()
    assert not any(each() is not None for each in kept)
