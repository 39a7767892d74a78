"""How treatment ends: schedules, wrappers of the user and failing steps keep working."""

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch.optim import SGD
from torch.optim.lr_scheduler import LambdaLR

from sickbay.doctor.optimizer_step import OptimizerStep
from tests.doctor.test_optimizer_step import halved, same, spoilt
from tests.doctor.test_step_adjustments import update
from tests.doctor.treated import learn, regression, treated


@pytest.mark.parametrize("early", [False, True])
def test_schedules_and_the_end(early: bool) -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.1)
    if early:
        schedule = LambdaLR(optimizer, lambda step: 0.5**step)
        doctor = treated(model, optimizer)
    else:
        doctor = treated(model, optimizer)
        schedule = LambdaLR(optimizer, lambda step: 0.5**step)
    learn(model, optimizer, doctor, steps=1)
    spoilt(model, optimizer)
    schedule.step()
    assert optimizer.param_groups[0]["lr"] == 0.05
    doctor.close()
    assert not same(update(model, optimizer), torch.zeros(()))
    schedule.step()
    assert optimizer.param_groups[0]["lr"] == 0.025


def test_the_end_leaves_the_optimizer_as_it_was() -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.1)
    before = vars(optimizer).keys()
    doctor = treated(model, optimizer)
    doctor.close()
    assert vars(optimizer).keys() == before
    assert not optimizer._optimizer_step_pre_hooks
    assert not optimizer._optimizer_step_post_hooks


def test_a_wrapper_of_the_users_stays() -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.1)
    doctor = treated(model, optimizer)
    calls, plain = [], optimizer.step

    def counted(closure: Any = None) -> Any:
        calls.append(closure)
        return plain(closure)

    optimizer.step = counted  # type: ignore[method-assign]
    learn(model, optimizer, doctor, steps=2)
    doctor.close()
    learn(model, optimizer, None, steps=2)
    assert len(calls) == 4
    assert vars(optimizer)["step"] is counted


@pytest.mark.parametrize("part", ["_before", "_after", "_restore", "set_rate", "skip"])
def test_trouble_of_ours_stays_with_us(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(OptimizerStep, part, broken)
    model, optimizer, doctor = halved(monkeypatch)
    update(model, optimizer)
    spoilt(model, optimizer)
    update(model, optimizer)
    assert [event for event in doctor.events if event.kind == "trouble"]
    assert part == "_restore" or optimizer.param_groups[0]["lr"] == 0.1


GLOBAL = """
import random, numpy, torch, sickbay
from torch import nn
from torch.optim import LBFGS, SGD, Adam

def now():
    return random.getstate(), numpy.random.get_state()[1].tolist(), torch.get_rng_state().tolist()

model = nn.Linear(8, 1)
x = torch.randn(4, 8)
before = now()
for optimizer in (LBFGS(model.parameters()), Adam(model.parameters())):
    def closure():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss
    doctor = sickbay.watch(model, optimizer, on_finding="treat")
    for step in range(30):
        if isinstance(optimizer, LBFGS):
            loss = optimizer.step(closure)
        else:
            loss = closure()
            optimizer.step()
        doctor.step(loss)
    doctor._treater._remedies.recipe() if isinstance(optimizer, Adam) else None
    doctor.close()
print(before == now(), hasattr(SGD.step, "hooked"))
"""


def test_nothing_global_changes() -> None:
    run = subprocess.run([sys.executable, "-c", GLOBAL], check=True, capture_output=True, text=True)
    assert "closure" in run.stderr
    assert run.stdout.split() == ["True", "False"]
