"""Live treatment: real loops that fall ill, and get well."""

from collections.abc import Callable, Sequence
from math import isfinite, nan
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn, optim
from torch.optim import SGD, Adam, AdamW, Optimizer

import sickbay
from sickbay.doctor import Doctor
from sickbay.doctor.step_adjustments import IN_A_ROW
from sickbay.findings import Finding
from sickbay.probe.finite import all_finite
from sickbay.problems import LossExplosion, LossSpike
from tests.models import FAMILIES, train

Change = Callable[[int, Optimizer, Tensor], None]
MAP = torch.randn(8, 1, generator=torch.Generator().manual_seed(7))


def regression(norm: bool = False) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(8, 32), nn.BatchNorm1d(32) if norm else nn.Identity(), nn.ReLU(), nn.Linear(32, 1)
    )


def learn(
    model: nn.Module,
    optimizer: Optimizer,
    doctor: Doctor | None,
    change: Change = lambda *_: None,
    steps: int = 200,
) -> list[float]:
    losses = []
    for step in range(steps):
        x = torch.randn(32, 8)
        y = x @ MAP
        change(step, optimizer, x)
        loss = (model(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if doctor is not None:
            doctor.step(loss)
    return losses


def treated(model: nn.Module, optimizer: Any, **options: Any) -> Doctor:
    return sickbay.watch(model, optimizer, on_finding="treat", **options)


def state_of(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def nan_at(*steps: int) -> Change:
    def spoil(step: int, _optimizer: Optimizer, x: Tensor) -> None:
        if step in steps:
            x[0, 0] = nan

    return spoil


def remedies(doctor: Doctor) -> list[str]:
    return [each.remedy for each in doctor.treatments]


@pytest.mark.parametrize("every", [1, "auto"])
@pytest.mark.parametrize("norm", [False, True])
def test_a_nan_batch_is_skipped_and_training_goes_on(norm: bool, every: Any) -> None:
    model = regression(norm)
    optimizer = SGD(model.parameters(), lr=0.02, momentum=0.9)
    doctor = treated(model, optimizer, every=every)
    losses = learn(model, optimizer, doctor, nan_at(57, 90, 91))
    assert remedies(doctor) == 3 * ["skip_bad_batches"]
    assert [each.step for each in doctor.treatments] == [57, 90, 91]
    assert all_finite(model.state_dict().values())  # buffers too
    healthy = regression(norm)
    usual = learn(healthy, SGD(healthy.parameters(), lr=0.02, momentum=0.9), None)
    assert losses[-1] < 2 * usual[-1]


@pytest.mark.parametrize("mode", ["advise", "silent"])
def test_without_treatment_the_same_loop_ends_in_nan(mode: Any) -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02, momentum=0.9)
    doctor = sickbay.watch(model, optimizer, on_finding=mode)
    losses = learn(model, optimizer, doctor, nan_at(57))
    assert not isfinite(losses[-1])
    assert doctor.treatments == []


def test_what_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    doctor = treated(model, optimizer)
    learn(model, optimizer, doctor, nan_at(57), steps=70)
    assert capsys.readouterr().err.splitlines() == [
        f"✖ {doctor.findings[0]}",
        "✚ step 57  skipped the batch: the gradient of 0.weight was not finite",
    ]


def test_a_gradient_that_is_not_finite_where_the_loss_is() -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    doctor = treated(model, optimizer, budget=1e-4)  # most steps pass unbooked

    def spoil(step: int, _optimizer: Optimizer, _x: Tensor) -> None:
        handle = model[0].weight.register_hook(  # type: ignore[index]
            lambda grad: grad * (nan if step == 150 else 1.0)
        )
        handles.append(handle)
        if len(handles) > 1:
            handles.pop(0).remove()

    handles: list[Any] = []
    losses = learn(model, optimizer, doctor, spoil)
    assert [(each.step, each.remedy) for each in doctor.treatments] == [(150, "skip_bad_batches")]
    assert "0.weight" in doctor.treatments[0].text
    assert isfinite(losses[-1])


def test_gradients_are_the_loops_own_again_after_a_skipped_step() -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    treated(model, optimizer)
    before = [each.detach().clone() for each in model.parameters()]
    model(torch.full((2, 8), nan)).sum().backward()
    grads = [each.grad for each in model.parameters()]
    optimizer.step()
    assert all(each.grad is grad for each, grad in zip(model.parameters(), grads, strict=True))
    assert all(torch.equal(*pair) for pair in zip(before, model.parameters(), strict=True))


def test_skipping_ends_when_it_is_no_bad_batch(capsys: pytest.CaptureFixture[str]) -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    doctor = treated(model, optimizer)
    losses = learn(model, optimizer, doctor, nan_at(*range(5, 40)), steps=40)
    assert remedies(doctor) == IN_A_ROW * ["skip_bad_batches"]
    assert not isfinite(losses[-1])  # and nothing was raised
    said = capsys.readouterr().err
    assert said.count("no bad batch but a sick run") == 1


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


def test_more_than_half_of_the_last_20_is_too_much_as_well(
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    doctor = treated(model, optimizer)
    learn(model, optimizer, doctor, nan_at(*(step for step in range(60) if step % 3)), steps=60)
    assert remedies(doctor) == 11 * ["skip_bad_batches"]
    assert capsys.readouterr().err.count("✚") == 10
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    doctor = treated(model, optimizer)
    learn(model, optimizer, doctor, nan_at(*range(0, 60, 2)), steps=60)
    assert remedies(doctor) == 30 * ["skip_bad_batches"]


def test_what_is_said_of_skipping_holds() -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    doctor = treated(model, optimizer)
    learn(model, optimizer, doctor, nan_at(*range(60, 85), 150), steps=160)
    done = [event for event in doctor.events if event.kind in ("treatment", "notice")]
    said = [event.kind for event in done].index("notice")
    assert "none is skipped until the weights have gone back" in done[said].text
    skipped = IN_A_ROW * ["skip_bad_batches"]
    assert remedies(doctor)[:said] == [*skipped, "roll_back", *skipped]
    assert remedies(doctor)[said:] == ["roll_back", "skip_bad_batches"]


def jump(step: int, optimizer: Optimizer, _x: Tensor) -> None:
    if step == 150:
        optimizer.param_groups[0]["lr"] *= 300


@pytest.mark.parametrize("kind", [SGD, Adam])
@pytest.mark.parametrize("every", [1, "auto"])
def test_after_a_jump_of_the_learning_rate_the_weights_go_back(kind: Any, every: Any) -> None:
    model = regression()
    optimizer = kind(model.parameters(), lr=0.02)
    weights = [each.data_ptr() for each in model.parameters()]
    doctor = treated(model, optimizer, every=every)
    losses = learn(model, optimizer, doctor, jump, steps=300)
    (back,) = [each for each in doctor.treatments if each.remedy == "roll_back"]
    assert (back.problem, back.step) == ("loss_spike", 154)
    assert "went back to the weights of step 1" in back.text
    assert "limited the learning rate to 0.02 because of loss spike at step 151" in back.text
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
    nurse = doctor._treater
    assert nurse is not None
    losses = learn(model, optimizer, doctor, steps=60)
    damage = ("loss_spike", "loss_explosion")
    doctor.step(9 * max(losses))
    assert nurse.plan(Finding(problem="exploding_gradient", step=60, consequences=damage))
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
    assert "came back by itself" in doctor.events[-1].text


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


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("every", [1, "auto"])
def test_a_healthy_run_is_bit_for_bit_the_same(family: str, every: Any) -> None:
    run = train(family, lambda *both: treated(*both, every=every), steps=40)
    assert run.doctor is not None
    assert run.doctor.treatments == []
    assert run.same_as(train(family, steps=40))


def test_a_long_healthy_run_is_the_same_with_snapshots_taken() -> None:
    def run(watched: bool) -> list[float]:
        model = regression(norm=True)
        optimizer = AdamW(model.parameters(), lr=0.003)
        doctor = treated(model, optimizer) if watched else None
        losses = learn(model, optimizer, doctor, steps=300)
        if doctor is not None:
            assert doctor._treater is not None
            kept = doctor._treater._snapshots.healthy
            assert kept is not None
            assert kept.step >= 200
            assert doctor.treatments == []
        return losses

    assert run(watched=True) == run(watched=False)


def test_the_chart_has_what_was_done(tmp_path: Path) -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    with treated(model, optimizer, chart=tmp_path / "run") as doctor:
        learn(model, optimizer, doctor, nan_at(30), steps=40)
    events: Sequence[sickbay.Event] = sickbay.Chart.open(tmp_path / "run").events()
    assert [event.text for event in events if event.kind == "treatment"] == [
        each.text for each in doctor.treatments
    ]
    assert len(doctor.treatments) == 1


def test_a_skipped_batch_keeps_no_other_treatment_away() -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    doctor = treated(model, optimizer, every=1)

    def both(step: int, optimizer: Optimizer, x: Tensor) -> None:
        nan_at(105)(step, optimizer, x)
        jump(step, optimizer, x)

    learn(model, optimizer, doctor, both, steps=160)
    assert remedies(doctor)[:2] == ["skip_bad_batches", "halve_learning_rate"]
    back = doctor.treatments[-1]
    assert "the weights of step 12" in back.text  # after the bad batch, though it still stood


def test_layers_that_are_left_out_keep_no_healthy_weights_from_being_copied() -> None:
    model = regression()
    head = list(model.children())[-1]
    doctor = treated(model, SGD(head.parameters(), lr=0.02))
    learn(model, doctor._probe.optimizers[0], doctor, steps=60)
    assert [each.problem for each in doctor.findings] == ["frozen_by_accident"]
    assert doctor._treater is not None
    assert doctor._treater._snapshots.healthy is not None
