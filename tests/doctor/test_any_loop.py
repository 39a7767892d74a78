"""Whatever a loop does, and whatever of ours fails, the doctor never gets in the way."""

import copy
import warnings
from math import inf, isnan, nan
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import sickbay
from tests.doctor.loops import backward, learn, table, true_norm, undisturbed, watch
from tests.models import compiled, features, mlp


def test_an_optimizer_with_a_closure() -> None:
    model = mlp()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
    doctor = watch(model, optimizer)
    inputs = features()

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss: Tensor = model(inputs).square().mean()
        backward(loss)
        return loss

    for _ in range(3):
        doctor.step(optimizer.step(closure))  # type: ignore[no-untyped-call]
    assert doctor.history.step == 2
    assert len(table(doctor, "gradient").names) == 8
    assert len(doctor.history.recent("grad_norm", 9)) == 3
    assert table(doctor, "weight").row("0.weight")["update_ratio"] > 0
    assert undisturbed(doctor)


def test_several_optimizers_each_with_its_own_backward() -> None:
    generator, critic = mlp(1), mlp(1)
    both = nn.ModuleDict({"generator": generator, "critic": critic})
    optimizers = [torch.optim.SGD(part.parameters(), lr=0.1) for part in (critic, generator)]
    doctor = watch(both, optimizers)
    for _ in range(3):
        optimizers[0].zero_grad()
        backward(critic(features()).square().mean())
        critic_grad = float(critic[0].weight.grad.norm())  # type: ignore[index]
        optimizers[0].step()
        optimizers[1].zero_grad()
        padded = nn.functional.pad(generator(features()), (0, 4))
        loss = critic(padded).square().mean()
        backward(loss)
        optimizers[1].step()
        doctor.step(loss)
    rows = table(doctor, "gradient")
    assert rows.row("critic.0.weight")["norm"] == pytest.approx(critic_grad, rel=1e-5)
    assert rows.row("generator.0.weight")["norm"] > 0
    assert doctor.history.step == 2
    assert {"lr", "lr_1"} <= doctor.history.scalars().keys()
    assert undisturbed(doctor)


def test_gradient_accumulation_counts_optimizer_steps() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    for micro in range(12):
        loss = model(features()).square().mean() / 4
        backward(loss)
        if micro % 4 == 3:
            expected = true_norm(model)
            optimizer.step()
            optimizer.zero_grad()
        doctor.step(float(micro))
    assert doctor.history.step == 2
    assert doctor.history.recent("loss", 9) == [1.5, 5.5, 9.5]
    assert doctor.history.latest("grad_norm") == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("fused", [False, True])
def test_steps_skipped_by_a_gradient_scaler_are_noticed(fused: bool) -> None:
    torch.manual_seed(0)
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), fused=fused)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    doctor = watch(model, optimizer)
    expected = 0.0
    for step in range(4):
        optimizer.zero_grad()
        loss = model(features()).square().mean()
        backward(scaler.scale(loss))
        if step == 2:
            model[0].weight.grad[0, 0] = inf  # type: ignore[index]
        expected = true_norm(model) / scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        doctor.step(loss)
    skipped = [event.step for event in doctor.events if event.kind == "skipped_step"]
    assert skipped == [2]
    assert doctor.history.step == 3
    assert doctor.history.latest("grad_norm") == pytest.approx(expected, rel=1e-4)
    assert [step for step, _ in doctor.history.timed("grad_norm", 9)] == [0, 1, 3]
    assert doctor.findings == []
    assert undisturbed(doctor)


def test_without_an_optimizer() -> None:
    model = mlp()
    for every in (1, "auto"):
        doctor = watch(model, every=every)
        for _ in range(6):
            model.zero_grad()
            loss = model(features()).square().mean()
            backward(loss)
            doctor.step(loss)
        assert doctor.history.step == 5
        assert len(table(doctor, "gradient").names) == 8
        assert len(doctor.history.recent("grad_norm", 9)) == 6
        assert undisturbed(doctor)
        doctor.close()


@pytest.mark.parametrize(
    "loss", [None, torch.ones(5), torch.tensor(nan), nan, inf, "0.5x", object()]
)
def test_any_loss(loss: Any) -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    learn(model, optimizer, features())
    doctor.step(loss, accuracy=torch.tensor(0.5))
    value = doctor.history.latest("loss")
    assert value == 1.0 if isinstance(loss, Tensor) and loss.numel() == 5 else not value < inf
    assert doctor.history.latest("accuracy") == 0.5
    assert [event.kind for event in doctor.events if event.kind == "notice"] == (
        ["notice"] if isnan(value) and type(loss) in (str, object) else []
    )
    assert undisturbed(doctor)


def test_hooks_that_come_too_late_are_mentioned_once() -> None:
    model = compiled(mlp())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    learn(model, optimizer, features())
    doctor = watch(model, optimizer)
    for _ in range(4):
        doctor.step(learn(model, optimizer, features()))
    notices = [event.text for event in doctor.events if event.kind == "notice"]
    assert len(notices) == 1
    assert "compiled before it was watched" in notices[0]
    assert table(doctor, "gradient").names[0] == "0.weight"


PARTS: dict[str, str] = {
    "statistics": "sickbay.probe.meter.measure",
    "norms": "sickbay.probe.probe.gradient_norms",
    "backward": "sickbay.probe.gradients.Gradients._backward_ended",
    "gradient tables": "sickbay.probe.gradients.StepGradients.tables",
    "weights": "sickbay.probe.weights.Weights.take",
    "updates": "sickbay.probe.weights.Weights.updated",
    "activations": "sickbay.probe.activations.Activations.add",
    "activation tables": "sickbay.probe.activations.StepActivations.table",
    "weight tables": "sickbay.probe.weights.StepWeights.table",
    "releasing": "sickbay.probe.activations.Activations.release",
    "batch": "sickbay.probe.batch.Batch.table",
    "learnt order": "sickbay.probe.layer_order.Layers.learn_order",
    "optimizer step": "sickbay.probe.probe.Probe._on_step",
    "after the step": "sickbay.probe.probe.Probe._on_stepped",
    "collecting": "sickbay.probe.probe.Probe.collect",
    "making vitals": "sickbay.probe.probe.Probe.vitals",
    "arming": "sickbay.probe.probe.Probe.arm",
    "rates": "sickbay.probe.layer_order.HeldParameters.learning_rates",
    "looking again": "sickbay.probe.probe.Probe.refresh",
    "closing": "sickbay.probe.probe.Probe.close",
    "history": "sickbay.history.History.append",
    "chart": "sickbay.chart.ChartWriter.append",
    "chart events": "sickbay.chart.ChartWriter.event",
    "chart end": "sickbay.chart.ChartWriter.close",
    "a problem": "sickbay.problems.non_finite.NonFinite.check",
    "causes": "sickbay.doctor.causes.Causes.judge",
    "the governor": "sickbay.doctor.governor.Governor.lap",
    "the clock": "sickbay.probe.cost_clock.Clock.read",
    "printing": "sickbay.reports.terminal.print_finding",
}


@pytest.fixture
def _no_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sickbay.reports.terminal.print_notice", str)


@pytest.mark.usefixtures("_no_output")
@pytest.mark.parametrize("every", [1, "auto"])
@pytest.mark.parametrize("part", PARTS)
def test_no_failure_of_ours_reaches_the_loop(
    part: str, every: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("on purpose")

    options = {"every": every, "chart": tmp_path / "run", "on_finding": "advise"}
    torch.manual_seed(0)
    plain_model = mlp(8)
    model = copy.deepcopy(plain_model)
    plain, watched = (torch.optim.SGD(each.parameters(), lr=0.1) for each in (plain_model, model))
    doctor = sickbay.watch(model, watched, **options)
    monkeypatch.setattr(PARTS[part], fail)
    inputs = features()
    for step in range(10):
        loss = learn(plain_model, plain, inputs)
        assert torch.equal(learn(model, watched, inputs), loss)
        doctor.step(loss if step != 5 else nan)
    doctor.epoch(val_loss=1.0)
    doctor.close()
    trouble = [event.text for event in doctor.events if event.kind == "trouble"]
    assert len(trouble) == len(set(trouble))
    if part not in ("norms", "chart events"):  # one is for tiny models, one cannot report itself
        assert any("on purpose" in text for text in trouble)


@pytest.mark.usefixtures("_no_output")
def test_a_failing_function_for_findings_does_not_reach_the_loop() -> None:
    def fail(_: sickbay.Finding) -> None:
        raise RuntimeError("on purpose")

    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer, on_finding=fail)
    for _ in range(3):
        learn(model, optimizer, features())
        doctor.step(nan)
    assert [finding.problem for finding in doctor.findings] == ["non_finite"]
    assert len([event for event in doctor.events if event.kind == "trouble"]) == 1


def test_warnings_are_not_raised_by_reading(recwarn: pytest.WarningsRecorder) -> None:
    warnings.simplefilter("always")
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    spoilt = features()
    spoilt[0, 0] = inf
    for inputs in (features(), spoilt, spoilt):
        doctor.step(learn(model, optimizer, inputs))
    assert not list(recwarn)
