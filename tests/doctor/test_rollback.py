"""Going back to healthy weights after a jump, or when the weights are lost."""

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest
import torch
from torch import Tensor, optim
from torch.optim import SGD, Adam, AdamW, Optimizer

from sickbay.doctor import Doctor, snapshots
from sickbay.doctor.step_adjustments import IN_A_ROW
from sickbay.findings import Finding
from sickbay.probe.finite import all_finite
from sickbay.problems import LossExplosion, LossSpike
from tests.doctor.treated import learn, nan_at, regression, remedies, treated


@pytest.fixture(autouse=True)
def snapshots_are_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take snapshots at fixed steps, however busy the machine is."""
    monkeypatch.setattr(snapshots, "CHEAP", inf)


def test_weights_that_spoil_every_batch_go_back_and_skipping_goes_on() -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    doctor = treated(model, optimizer)
    learn(model, optimizer, doctor, nan_at(*range(60, 70), 80), steps=90)
    assert remedies(doctor) == [
        *IN_A_ROW * ["skip_bad_batches"],
        "roll_back",
        "skip_bad_batches",
    ]
    assert all_finite(model.parameters())


def jump(step: int, optimizer: Optimizer, _x: Tensor) -> None:
    if step == 150:
        optimizer.param_groups[0]["lr"] *= 300


# Adam has nearly solved the task by then, so its first jump does not count: it is a small one.
@pytest.mark.parametrize(("kind", "spike"), [(SGD, 151), (Adam, 152)])
@pytest.mark.parametrize("every", [1, "auto"])
def test_after_a_jump_of_the_learning_rate_the_weights_go_back(
    kind: Any, spike: int, every: Any
) -> None:
    model = regression()
    optimizer = kind(model.parameters(), lr=0.02)
    weights = [each.data_ptr() for each in model.parameters()]
    doctor = treated(model, optimizer, every=every)
    losses = learn(model, optimizer, doctor, jump, steps=300)
    (back,) = [each for each in doctor.treatments if each.remedy == "roll_back"]
    assert (back.problem, back.step) == ("loss_spike", spike + 3)
    assert "went back to the weights of step 1" in back.text
    limited = "limited the learning rate to 0.02"
    assert f"{limited} because of loss spike at step {spike}" in back.text
    assert max(losses[149:155]) > 100 * losses[149]
    assert sum(losses[-20:]) < sum(losses[130:150])
    assert [each.data_ptr() for each in model.parameters()] == weights
    assert optimizer.param_groups[0]["lr"] == pytest.approx(6)  # the loop's own is left alone
    untreated = regression()
    alone = learn(untreated, kind(untreated.parameters(), lr=0.02), None, jump, steps=300)
    assert not alone[-1] < 100 * losses[-1]


KINDS: dict[str, Callable[[Any], Optimizer]] = {
    "sgd": lambda held: SGD(held, lr=0.02),
    "momentum": lambda held: SGD(held, lr=0.02, momentum=0.9),
    "adam": lambda held: Adam(held, lr=0.01),
    "adamw": lambda held: AdamW(held, lr=0.01),
    "rmsprop": lambda held: optim.RMSprop(held, lr=0.005),
    "adagrad": lambda held: optim.Adagrad(held, lr=0.05),
    "adadelta": lambda held: optim.Adadelta(held, lr=1.0),
    "nadam": lambda held: optim.NAdam(held, lr=0.01),
    "radam": lambda held: optim.RAdam(held, lr=0.01),
    "adamax": lambda held: optim.Adamax(held, lr=0.02),
    "asgd": lambda held: optim.ASGD(held, lr=0.02),
    "rprop": lambda held: optim.Rprop(held, lr=0.001),
}


@pytest.mark.parametrize("kind", KINDS)
def test_damage_that_is_found_with_its_cause_leads_back(kind: str) -> None:
    def damage(step: int, optimizer: Optimizer, _x: Tensor) -> None:
        if step == 130:
            with torch.no_grad():
                for each in optimizer.param_groups[0]["params"]:
                    each.mul_(30)

    def run(every: Any) -> tuple[Doctor, float]:
        model = regression()
        optimizer = KINDS[kind](model.parameters())
        doctor = treated(model, optimizer, every=every)
        losses = learn(model, optimizer, doctor, damage, steps=180)
        assert max(losses[130:140]) > 1000 * losses[129]
        return doctor, sum(losses[-10:])

    doctor, end = run(1)
    assert [f.problem for f in doctor.findings if "loss_spike" in f.consequences]
    assert remedies(doctor).count("roll_back") == 1
    assert end == pytest.approx(run("auto")[1], rel=0.2)


def test_going_back_answers_every_jump() -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    silent = [LossSpike(factor=1e9), LossExplosion(limit=1e9, factor=1e9)]
    doctor = treated(model, optimizer, problems=silent)
    treater = doctor._treater
    assert treater is not None
    losses = learn(model, optimizer, doctor, steps=60)
    damage = ("loss_spike", "loss_explosion")
    doctor.step(9 * max(losses))
    assert treater.plan(Finding(problem="exploding_gradient", step=60, consequences=damage))
    for _ in range(5):
        learn(model, optimizer, None, steps=1)
        doctor.step(9 * max(losses))
    assert remedies(doctor).count("roll_back") == 1
    assert next(each for each in doctor.treatments if each.remedy == "roll_back").undo()


def test_a_spike_that_passes_needs_nothing() -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    doctor = treated(model, optimizer, problems=["loss_spike"])
    losses = learn(model, optimizer, None, steps=100)
    for loss in [*losses, 50.0, losses[-1], losses[-1]]:
        learn(model, optimizer, None, steps=1)
        doctor.step(loss)
    assert [each.problem for each in doctor.findings] == ["loss_spike"]
    assert doctor.treatments == []
    assert "recovered by itself" in doctor.events[-1].text


@pytest.mark.parametrize("problems", [None, []])
def test_weights_that_are_lost_go_back_with_the_state_of_the_optimizer(problems: Any) -> None:
    model = regression(norm=True)
    optimizer = Adam(model.parameters(), lr=0.01)
    doctor = treated(model, optimizer, problems=problems)

    def spoil(step: int, optimizer: Optimizer, _x: Tensor) -> None:
        if step == 100:
            with torch.no_grad():
                next(model.parameters()).fill_(nan)
            for state in optimizer.state.values():
                state["exp_avg_sq"].fill_(nan)

    losses = learn(model, optimizer, doctor, spoil)
    assert [(each.step, each.remedy) for each in doctor.treatments] == [
        (100, "skip_bad_batches"),
        (100, "roll_back"),
    ]
    assert losses[-1] < losses[20]
    assert all_finite(model.state_dict().values())
    assert all(all_finite(state.values()) for state in optimizer.state.values())
    steps = {int(state["step"]) for state in optimizer.state.values()}
    assert steps.pop() < 199
    assert not steps
