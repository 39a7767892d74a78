"""The doctor of a trial, in a framework that only records the ends it is asked for."""

from __future__ import annotations

import gc
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import sickbay
from sickbay.doctor.watch_arguments import prepare_watched
from sickbay.probe import grad_scaler
from sickbay.problems import NoMoreGain, NonFinite, PassiveLoss
from sickbay.tuning.judge import End
from sickbay.tuning.trial_doctor import TrialDoctor
from tests.tuning.loops import BATCHES, accuracy, learn, network, train
from tests.tuning.recording_problems import Broken, Listening


class RecordingDoctor(TrialDoctor):
    """Records the ends it is asked for, and refuses the first `late` of them."""

    late = 0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.ends: list[End] = []

    def end_trial(self, end: End) -> bool:
        self.ends.append(end)
        return len(self.ends) > self.late


def watch(
    model: nn.Module,
    optimizer: Any,
    *problems: Any,
    epochs: int = 8,
    every: Any = 1,
    budget: float = 0.01,
    chart: Path | None = None,
) -> RecordingDoctor:
    watched = prepare_watched(
        model,
        optimizer,
        problems,
        every=every,
        budget=budget,
        epochs=epochs,
        chart=chart,
        on_finding=lambda _: None,
        activations=True,
    )
    return RecordingDoctor(watched, "val_accuracy", True)


def test_a_trial_that_learns_nothing_is_ended_at_the_epoch_that_shows_it() -> None:
    model, optimizer = network(rate=0.0)
    doctor = watch(model, optimizer, PassiveLoss())
    train(doctor, model, optimizer)
    assert doctor.done
    assert doctor.diagnosis is not None
    assert (doctor.diagnosis.problem, doctor.diagnosis.epoch) == ("passive_loss", 3)
    assert [each.finding for each in doctor.ends] == [doctor.diagnosis] == doctor.findings
    assert doctor.history.epoch == 3


def test_a_trial_that_learns_is_left_alone() -> None:
    model, optimizer = network(rate=1.0)
    doctor = watch(model, optimizer, PassiveLoss(), NonFinite())
    train(doctor, model, optimizer)
    assert not doctor.done
    assert not doctor.findings
    assert doctor.history.epoch == 8
    assert doctor.best == max(doctor.history.epochs("val_accuracy")) > 0.6


def test_what_is_not_finite_ends_a_trial_inside_its_epoch() -> None:
    model, optimizer = network(rate=0.5)
    doctor = watch(model, optimizer, NonFinite())
    found = []
    for step in range(100):
        if step == 20:
            next(model.parameters()).data[0] = torch.nan
        found += doctor.step(learn(model, optimizer, *BATCHES[0]))
        if doctor.done:
            break
        doctor._background.wait()
    assert [(each.problem, each.step) for each in found] == [("non_finite", 20)]
    assert step == 21


def test_training_is_the_training_without_it() -> None:
    plain, optimizer = network(rate=0.5)
    random = torch.get_rng_state()
    for _ in range(8):
        for x, y in BATCHES:
            learn(plain, optimizer, x, y)
    model, optimizer = network(rate=0.5)
    doctor = watch(model, optimizer, PassiveLoss(), NonFinite(), Listening())
    train(doctor, model, optimizer)
    for one, other in zip(plain.parameters(), model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert torch.equal(random, torch.get_rng_state())


@pytest.mark.parametrize("budget", [1e-6, 0.5])
def test_the_judge_s_epochs_are_the_means_of_all_steps(budget: float) -> None:
    model, optimizer = network(rate=0.5)
    listening = Listening()
    doctor = watch(model, optimizer, listening, epochs=3, every="auto", budget=budget)
    means = []
    for _ in range(2):
        losses = []
        for step in range(400):
            loss = learn(model, optimizer, *BATCHES[step % 4])
            losses.append(loss.item())
            doctor.step(loss)
        means.append(sum(losses) / 400)
        doctor.epoch(val_accuracy=0.5)
    assert listening.shown[-1][3] == pytest.approx(means)
    assert listening.shown[-1][3] == doctor.history.epochs("loss")


def test_one_that_raises_is_said_once_and_training_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    model, optimizer = network(rate=0.5)
    doctor = watch(model, optimizer, Broken())
    train(doctor, model, optimizer)
    troubles = [each.text for each in doctor.events if each.kind == "trouble"]
    assert troubles == ["problem broken failed and is switched off (ZeroDivisionError: oh)."]
    assert capsys.readouterr().err.count("problem broken failed") == 1
    assert doctor.history.epoch == 8


def test_an_end_that_is_refused_is_tried_again_and_found_once(tmp_path: Path) -> None:
    model, optimizer = network(rate=0.0)
    doctor = watch(model, optimizer, PassiveLoss(), chart=tmp_path / "run")
    doctor.late = 2
    train(doctor, model, optimizer)
    assert doctor.done
    assert len(doctor.ends) == 3
    assert doctor.history.epoch == 5
    kept = sickbay.Chart.open(tmp_path / "run").findings()
    assert [each.problem for each in kept] == ["passive_loss"]


def test_a_loop_that_goes_on_after_the_end_gets_one_notice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    model, optimizer = network(rate=0.0)
    doctor = watch(model, optimizer, PassiveLoss())
    for _ in range(6):
        doctor.step(learn(model, optimizer, *BATCHES[0]))
        doctor.epoch(val_accuracy=accuracy(model))
    assert doctor.done
    assert capsys.readouterr().err.count("its loop goes on") == 1


def test_a_metric_that_is_not_given_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    model, optimizer = network(rate=0.5)
    doctor = watch(model, optimizer, PassiveLoss())
    for _ in range(3):
        doctor.step(learn(model, optimizer, *BATCHES[0]))
        doctor.epoch(val_loss=1.0)
    said = capsys.readouterr().err
    assert said.count("epoch() should be given val_accuracy, got val_loss.") == 1
    assert doctor.best is None


@pytest.mark.parametrize("shape", [(), (2,)])
def test_a_metric_that_is_no_real_number_is_said_and_the_others_are_kept(
    shape: tuple[int, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    model, optimizer = network(rate=0.5)
    doctor = watch(model, optimizer, PassiveLoss())
    odd = torch.zeros(shape, dtype=torch.complex64)
    for _ in range(2):
        doctor.step(learn(model, optimizer, *BATCHES[0]))
        doctor.epoch(val_accuracy=0.5, odd=odd, unknown=torch.zeros((), device="meta"))
    said = capsys.readouterr().err
    assert said.count("odd must be a number or a tensor, got a tensor of torch.complex64.") == 1
    assert said.count("unknown must be a number or a tensor, got a tensor") == 1
    assert doctor.best == 0.5
    assert doctor.history.epochs("val_accuracy") == [0.5, 0.5]


def test_after_the_last_epoch_nothing_is_watched() -> None:
    model, optimizer = network(rate=0.5)
    doctor = watch(model, optimizer, PassiveLoss(), NoMoreGain(), epochs=2)
    assert grad_scaler._patch.listeners
    train(doctor, model, optimizer)
    assert not grad_scaler._patch.listeners
    thread = doctor._background._thread
    assert thread is not None
    thread.join(10)
    assert not thread.is_alive()


def test_a_doctor_that_is_left_behind_leaves_no_thread() -> None:
    model, optimizer = network(rate=0.5)
    doctor: RecordingDoctor | None = watch(model, optimizer, PassiveLoss())
    assert doctor is not None
    doctor.step(learn(model, optimizer, *BATCHES[0]))
    thread = doctor._background._thread
    assert thread in threading.enumerate()
    doctor = model = optimizer = None  # type: ignore[assignment]
    deadline = time.monotonic() + 10
    while thread in threading.enumerate() and time.monotonic() < deadline:
        gc.collect()
    assert thread not in threading.enumerate()


def test_judging_is_part_of_the_cost() -> None:
    model, optimizer = network(rate=0.5)
    doctor = watch(model, optimizer, PassiveLoss())
    for _ in range(5):
        doctor.step(learn(model, optimizer, *BATCHES[0]))
    assert doctor._background.wait()
    spent = doctor._background.seconds
    assert spent > 0
    doctor._clock.read()
    doctor._background.judge(doctor.history)
    assert doctor._clock.read()["judging"] > 0
