"""Loops too fast to be booked at every step, and other turns that are easy to get wrong."""

from math import nan
from pathlib import Path

import pytest
import torch
import torch.utils.checkpoint
from torch import Tensor, nn

from sickbay.chart import Chart
from sickbay.doctor import Doctor
from tests.doctor.loops import backward, learn, table, true_norm, watch
from tests.doctor.test_harmless import hooks_of
from tests.models import features, mlp


def hurried(model: nn.Module, optimizer: torch.optim.Optimizer) -> Doctor:
    """Return a doctor whose budget is so small that most steps pass unbooked."""
    return watch(model, optimizer, every="auto", budget=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("form", ["tensor", "number", "metrics"])
def test_every_loss_and_the_right_norms_whatever_is_given(dtype: torch.dtype, form: str) -> None:
    model = mlp().to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    doctor = hurried(model, optimizer)
    losses, norms = [], {}
    for step in range(300):
        loss = learn(model, optimizer, features(8).to(dtype))
        if form == "metrics":
            doctor.step(loss, accuracy=step / 300)
        else:
            doctor.step(loss if form == "tensor" else loss.item())
        losses.append(loss.item())
        norms[step] = true_norm(model)
    assert doctor.history.recent("loss", 300) == losses
    if form == "metrics":
        assert doctor.history.recent("accuracy", 300) == [step / 300 for step in range(300)]
    read = dict(doctor.history.timed("grad_norm", 300))
    assert 4 < len(read) < 300
    assert read == pytest.approx({step: norms[step] for step in read}, rel=1e-2)
    assert not doctor._guard.off


def test_steps_are_on_their_way_to_the_chart_before_they_are_booked(tmp_path: Path) -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    doctor = watch(model, optimizer, every="auto", budget=1e-4, chart=tmp_path / "run")
    losses = []
    for _ in range(300):
        losses.append(learn(model, optimizer, features(8)))
        doctor.step(losses[-1])
    assert doctor._passed
    assert doctor._log._chart is not None
    doctor._log._chart.flush()
    assert Chart.open(tmp_path / "run").history().recent("loss", 999) == [x.item() for x in losses]


def test_gradient_accumulation() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    doctor = hurried(model, optimizer)
    for micro in range(800):
        model(features()).square().mean().backward()
        if micro % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
        doctor.step(torch.tensor(float(micro)))
    assert doctor.history.recent("loss", 200) == [4 * step + 1.5 for step in range(200)]


def test_the_order_of_several_optimizers_does_not_matter() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 1))
    first, second = (torch.optim.SGD(part.parameters(), lr=0.1) for part in model)
    doctor = watch(model, [first, second], every=2)
    for _ in range(3):
        loss = model(features()).square().mean()
        model.zero_grad()
        loss.backward()
        second.step()
        first.step()
        doctor.step(loss)
        assert doctor.history.latest("grad_norm") == pytest.approx(true_norm(model), rel=1e-5)
    assert doctor.history.step == 2


def test_several_steps_in_one_turn_have_the_norm_of_the_last() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer, every={"weight": 1})
    for _ in range(4):
        loss = learn(model, optimizer, features())
    doctor.step(loss)
    assert doctor.history.step == 3
    assert doctor.history.latest("grad_norm") == pytest.approx(true_norm(model), rel=1e-5)


def test_two_doctors_may_watch_one_optimizer() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctors = [watch(part, optimizer) for part in (model, nn.Sequential(model))]
    for _ in range(3):
        loss = learn(model, optimizer, features())
        for doctor in doctors:
            doctor.step(loss)
    for doctor, name in zip(doctors, ("0.weight", "0.0.weight"), strict=True):
        assert table(doctor, "weight").row(name)["update_ratio"] > 0
        doctor.close()
    assert not optimizer._optimizer_step_post_hooks


def test_a_closure_that_raises_leaves_no_trace() -> None:
    model = mlp()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)
    doctor = watch(model, optimizer)

    def broken() -> float:
        raise KeyError("no batch")

    with pytest.raises(KeyError):
        optimizer.step(broken)  # type: ignore[no-untyped-call]

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss: Tensor = model(features()).square().mean()
        backward(loss)
        return loss

    doctor.step(optimizer.step(closure))  # type: ignore[no-untyped-call]
    doctor.close()
    assert not optimizer._optimizer_step_post_hooks


def test_a_backward_that_raises_does_not_end_the_readings() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)

    def fail(_: Tensor) -> None:
        raise KeyError("on purpose")

    loss = model(features()).square().mean()
    handle = next(model.parameters()).register_hook(fail)  # type: ignore[no-untyped-call]
    with pytest.raises(KeyError):
        loss.backward()
    handle.remove()
    for _ in range(2):
        optimizer.zero_grad()
        model(features()).square().mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
        optimizer.step()
        doctor.step()
    assert table(doctor, "raw_gradient").step == 1


def test_nan_that_went_away_may_be_found_again() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer, every={"gradient": 1})
    for step in range(45):
        optimizer.zero_grad()
        model(features()).square().mean().backward()
        if step in (5, 20):
            model[2].weight.grad[0, 0] = nan  # type: ignore[index]
            doctor._probe._before_step(optimizer, (optimizer,), {})  # the weights are to stay whole
        else:
            optimizer.step()
        doctor.step()
    assert [finding.step for finding in doctor.findings] == [5, 20]
    assert [event.kind for event in doctor.events] == ["finding", "gone", "finding", "gone"]


def test_a_disabled_scaler_is_no_scaler() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    doctor = watch(model, optimizer)
    scaler.scale(1e3 * model(features()).square().mean()).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    doctor.step()
    assert doctor.history.table("raw_gradient") is not None


def test_a_layer_without_parameters_may_be_replaced() -> None:
    model = mlp()
    assert isinstance(model, nn.Sequential)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    doctor.step(learn(model, optimizer, features()))
    model[1] = nn.LeakyReLU()
    doctor.epoch()
    for _ in range(2):
        doctor.step(learn(model, optimizer, features()))
    assert doctor.history.setup.layers["1"] == "LeakyReLU"
    assert table(doctor, "activation").row("1")["minimum"] < 0


def test_weights_are_read_without_an_optimizer_and_activations_once_when_checkpointed() -> None:
    class Thrifty(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = mlp(), nn.Linear(4, 1)

        def forward(self, x: Tensor) -> Tensor:
            hidden = torch.utils.checkpoint.checkpoint(self.body, x, use_reentrant=False)
            out: Tensor = self.head(hidden)
            return out

    model = Thrifty()
    doctor = watch(model)
    model(features(6)).square().mean().backward()
    doctor.step()
    assert len(table(doctor, "weight").names) == 10
    assert table(doctor, "activation").row("body.0")["count"] == 6 * 8


def test_copies_of_outputs_do_not_pile_up() -> None:
    model = mlp()
    doctor = watch(model)
    for _ in range(300):
        model(features()).square().mean().backward()
    assert len(doctor._probe.activations._kept) < 300
    doctor.step()
    assert table(doctor, "activation").row("0")["count"] == 300 * 6 * 8


@pytest.mark.parametrize(
    "part", ["sickbay.history.History.append", "sickbay.probe.probe.Probe.collect"]
)
def test_a_doctor_that_failed_takes_its_hooks_away(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("on purpose")

    monkeypatch.setattr("sickbay.reports.terminal.print_notice", str)
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    monkeypatch.setattr(part, fail)
    doctor.step(learn(model, optimizer, features()))
    assert hooks_of(model) == 0
    assert not optimizer._optimizer_step_pre_hooks
    doctor.step(learn(model, optimizer, features()))
    doctor.close()


def test_a_raised_learning_rate_is_seen_at_its_step() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    doctor = hurried(model, optimizer)
    for step in range(120):
        optimizer.param_groups[0]["lr"] = 1e-4 if step < 100 else 1e-2
        doctor.step(learn(model, optimizer, features(8)))
    assert 100 in [step for step, _ in doctor.history.timed("lr", 120)]
    assert 100 in [each.step for each in doctor.history.tables("weight", 32)]


def test_a_gradient_that_falls_silent_is_looked_at_closer() -> None:
    silenced = nn.Linear(64, 64)
    model = nn.Sequential(nn.Linear(8, 64), silenced, nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    doctor = watch(model, optimizer, every={"gradient": 1000, "weight": 1000})
    for step in range(50):
        optimizer.zero_grad()
        model(features(8)).square().mean().backward()
        if step >= 30 and silenced.weight.grad is not None:
            silenced.weight.grad.zero_()
        optimizer.step()
        doctor.step(torch.tensor(1.0))
    assert [each.step for each in doctor.history.tables("gradient", 32)] == [0, 30]
