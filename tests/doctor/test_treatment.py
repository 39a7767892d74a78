"""Live treatment: real loops that fall ill, and get well."""

from collections.abc import Sequence
from math import isfinite, nan
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.optim import SGD, AdamW, Optimizer

import sickbay
from sickbay.doctor.step_adjustments import IN_A_ROW
from sickbay.probe.finite import all_finite
from tests.doctor.test_rollback import jump
from tests.doctor.treated import learn, nan_at, regression, remedies, treated
from tests.models import FAMILIES, train


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
    assert said.count("the batches are not to blame") == 1


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
    assert "None is skipped until healthy weights are restored" in done[said].text
    skipped = IN_A_ROW * ["skip_bad_batches"]
    assert remedies(doctor)[:said] == [*skipped, "roll_back", *skipped]
    assert remedies(doctor)[said:] == ["roll_back", "skip_bad_batches"]


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
    learn(model, doctor._probe.held.optimizers[0], doctor, steps=60)
    assert [each.problem for each in doctor.findings] == ["frozen_by_accident"]
    assert doctor._treater is not None
    assert doctor._treater._snapshots.healthy is not None
