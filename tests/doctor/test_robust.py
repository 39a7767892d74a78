"""Whatever a loop does, the doctor reads what is there and never gets in the way."""

import copy
import warnings
from math import inf, isnan, nan
from time import sleep
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import sickbay
from sickbay.doctor import Doctor
from sickbay.readings import Table
from tests.models import Transformer, cnn, compiled, features, mlp, tokens


def watch(model: nn.Module, optimizer: Any = None, **options: Any) -> Doctor:
    return sickbay.watch(model, optimizer, **{"every": 1, "on_finding": "silent", **options})


def backward(loss: Tensor) -> None:
    loss.backward()  # type: ignore[no-untyped-call]


def learn(model: nn.Module, optimizer: torch.optim.Optimizer, inputs: Tensor) -> Tensor:
    optimizer.zero_grad()
    loss: Tensor = model(inputs).square().mean()
    backward(loss)
    optimizer.step()
    return loss


def table(doctor: Doctor, kind: Any) -> Table:
    found = doctor.history.table(kind)
    assert found is not None
    return found


def undisturbed(doctor: Doctor) -> bool:
    return not doctor._guard.off and not [e for e in doctor.events if e.kind == "trouble"]


def test_layers_are_in_the_order_of_the_forward_pass() -> None:
    class Backwards(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Linear(4, 1)
            self.middle = nn.Sequential(nn.ReLU(), nn.Linear(5, 4))
            self.first = nn.Linear(3, 5)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.last(self.middle(self.first(x)))
            return out

    model = Backwards()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for options in ({}, {"activations": False}):
        doctor = watch(model, optimizer, **options)
        doctor.step(learn(model, optimizer, torch.randn(4, 3)))
        expected = ("first", "middle.1", "last")
        assert tuple(dict.fromkeys(table(doctor, "gradient").layers)) == expected
        assert tuple(dict.fromkeys(table(doctor, "weight").layers)) == expected
        assert [name for name in doctor.history.setup.shapes if name.endswith("weight")] == [
            f"{name}.weight" for name in expected
        ]
        doctor.close()


def test_activations_are_those_of_the_layers() -> None:
    model = cnn()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    inputs = torch.randn(6, 3, 10, 10)
    with torch.no_grad():
        expected = model[0](inputs)  # type: ignore[index]
    doctor.step(learn(model, optimizer, inputs))
    activation = table(doctor, "activation")
    assert activation.names == tuple(name for name, _ in model.named_children())
    row = activation.row("0")  # read before the ReLU two layers on works in place
    assert row["norm"] == pytest.approx(float(expected.norm()), rel=1e-5)
    assert row["minimum"] == pytest.approx(float(expected.min()))


def test_dead_units_are_counted_by_channel_and_by_feature() -> None:
    class Half(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            mask = torch.ones_like(x)
            mask[:, : x.shape[1] // 2] = 0
            return x * mask

    images = nn.Sequential(nn.Conv2d(3, 8, 3), Half(), nn.Flatten(), nn.Linear(8 * 64, 1))
    optimizer = torch.optim.SGD(images.parameters(), lr=0.1)
    doctor = watch(images, optimizer)
    doctor.step(learn(images, optimizer, torch.randn(4, 3, 10, 10)))
    assert table(doctor, "activation").row("1")["dead_units"] == 0.5
    assert table(doctor, "activation").row("0")["dead_units"] == 0.0


def test_frozen_unused_and_shared_parameters() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.frozen = nn.Linear(8, 8).requires_grad_(False)
            self.twin_a = nn.Linear(8, 8)
            self.twin_b = nn.Linear(8, 8)
            self.twin_b.weight = self.twin_a.weight
            self.unused = nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.twin_b(self.twin_a(self.frozen(x)))
            return out

    model = Odd()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    for _ in range(3):
        doctor.step(learn(model, optimizer, features()))
    assert table(doctor, "gradient").names == ("twin_a.weight", "twin_a.bias", "twin_b.bias")
    assert "unused" not in table(doctor, "activation").names
    assert undisturbed(doctor)


@pytest.mark.parametrize("calls", [0, 5])
def test_a_layer_called_any_number_of_times(calls: int) -> None:
    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.out = nn.Linear(8, 8), nn.Linear(8, 1)

        def forward(self, x: Tensor) -> Tensor:
            for _ in range(calls):
                x = self.cell(x).tanh()
            out: Tensor = self.out(x)
            return out

    model = Loop()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    doctor.step(learn(model, optimizer, features(6)))
    activation = table(doctor, "activation")
    assert ("cell" in activation.names) is (calls > 0)
    if calls:
        assert activation.row("cell")["count"] == calls * 6 * 8
    assert undisturbed(doctor)


def test_sparse_embedding_gradients() -> None:
    model = nn.Sequential(nn.Embedding(50, 4, sparse=True), nn.Linear(4, 1))
    optimizers = [
        torch.optim.SparseAdam(model[0].parameters()),
        torch.optim.SGD(model[1].parameters(), lr=0.1),
    ]
    for every in (1, "auto"):
        doctor = watch(model, optimizers, every=every)
        for _ in range(4):
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss = model(torch.tensor([[1, 2, 1], [7, 7, 1]])).square().mean()
            backward(loss)
            for optimizer in optimizers:
                optimizer.step()
            doctor.step(loss)
        assert table(doctor, "gradient").row("0.weight")["count"] == 3 * 4
        assert undisturbed(doctor)
        doctor.close()


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


def test_a_model_changed_during_training() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    for _ in range(3):
        doctor.step(learn(model, optimizer, features()))
    model[2] = nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 1))
    optimizer.add_param_group({"params": model[2].parameters()})
    doctor.epoch()
    for _ in range(3):
        doctor.step(learn(model, optimizer, features()))
    assert table(doctor, "gradient").layers[-1] == "2.1"
    assert "2.1" in table(doctor, "activation").names
    assert "2.1" in doctor.history.setup.layers
    assert undisturbed(doctor)


def test_passes_outside_training_are_not_measured() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    with torch.no_grad():
        model(1e6 * features())
    model.eval()
    model(1e6 * features())
    model.train()
    doctor.step(learn(model, optimizer, features(6)))
    assert table(doctor, "activation").row("0")["absmax"] < 1e3
    assert table(doctor, "activation").row("0")["count"] == 6 * 8


def test_gradient_accumulation_counts_optimizer_steps() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    for micro in range(12):
        loss = model(features()).square().mean() / 4
        backward(loss)
        if micro % 4 == 3:
            expected = nn.utils.get_total_norm(
                [p.grad for p in model.parameters() if p.grad is not None]
            )
            optimizer.step()
            optimizer.zero_grad()
        doctor.step(float(micro))
    assert doctor.history.step == 2
    assert doctor.history.recent("loss", 9) == [1.5, 5.5, 9.5]
    assert doctor.history.latest("grad_norm") == pytest.approx(float(expected), rel=1e-5)


def test_gradients_before_and_after_clipping() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    backward(1e3 * model(features()).square().mean())
    before = float(nn.utils.clip_grad_norm_(model.parameters(), 1.0))
    optimizer.step()
    doctor.step()
    raw = table(doctor, "raw_gradient").column("norm")
    assert float((raw**2).sum() ** 0.5) == pytest.approx(before, rel=1e-5)
    assert doctor.history.latest("grad_norm") == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize("fused", [False, True])
def test_steps_skipped_by_a_gradient_scaler_are_noticed(fused: bool) -> None:
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
        norms = [p.grad.norm() for p in model.parameters() if p.grad is not None]
        expected = float(torch.stack(norms).norm()) / scaler.get_scale()
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


def test_the_norm_is_right_wherever_it_is_read_with_the_defaults() -> None:
    model = mlp(depth=12, width=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    doctor = watch(model, optimizer, every="auto")
    expected = {}
    for step in range(200):
        doctor.step(learn(model, optimizer, features(64)))
        norms = [p.grad.norm() for p in model.parameters() if p.grad is not None]
        expected[step] = float(torch.stack(norms).norm())
    read = dict(doctor.history.timed("grad_norm", 999))
    assert len(read) >= 3  # how often depends on how busy the machine is
    assert read == pytest.approx({step: expected[step] for step in read}, rel=1e-5)
    assert len(doctor.history.recent("loss", 999)) == 200


def test_a_loop_of_long_steps_is_read_at_most_steps_with_the_defaults() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    doctor = watch(model, optimizer, every="auto")
    for _ in range(12):
        sleep(0.15)
        doctor.step(learn(model, optimizer, features()))
    assert len(doctor.history.timed("grad_norm", 99)) >= 6  # all twelve, if nothing else runs


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


def test_update_ratio_and_learning_rate() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    doctor = watch(model, optimizer)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    doctor.step(learn(model, optimizer, features()))
    pairs = list(zip(model.parameters(), before, strict=True))
    moved = torch.stack([(now.detach() - then).norm() for now, then in pairs]).norm()
    length = torch.stack([then.norm() for then in before]).norm()
    assert doctor.history.latest("update_ratio") == pytest.approx(float(moved / length), rel=1e-4)
    assert doctor.history.latest("lr") == 0.5


def test_attention_and_nested_layers_are_read() -> None:
    model = Transformer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    doctor.step(learn(model, optimizer, tokens()))
    layers = table(doctor, "gradient").layers
    assert layers[0] == "embed"
    assert layers[-1] == "head"
    assert "body.layers.0.self_attn" in table(doctor, "activation").names
    names = table(doctor, "gradient").names
    assert names.index("body.layers.0.self_attn.in_proj_weight") < names.index(
        "body.layers.0.linear1.weight"
    )


PARTS: dict[str, str] = {
    "statistics": "sickbay.vitals.meter.measure",
    "norms": "sickbay.vitals.probe.gradient_norms",
    "backward": "sickbay.vitals.gradients.Gradients._take_raw",
    "gradient tables": "sickbay.vitals.gradients.Taken.tables",
    "weights": "sickbay.vitals.weights.Weights.take",
    "updates": "sickbay.vitals.weights.Weights.updated",
    "activations": "sickbay.vitals.activations.Activations.hear",
    "activation tables": "sickbay.vitals.activations.Taken.table",
    "weight tables": "sickbay.vitals.weights.Taken.table",
    "releasing": "sickbay.vitals.activations.Activations.release",
    "batch": "sickbay.vitals.batch.Batch.table",
    "order": "sickbay.vitals.anatomy.Anatomy._note_call",
    "learnt order": "sickbay.vitals.anatomy.Anatomy.learn_order",
    "optimizer step": "sickbay.vitals.probe.Probe._on_step",
    "after the step": "sickbay.vitals.probe.Probe._on_stepped",
    "releasing all": "sickbay.vitals.probe.Probe.release",
    "making a reading": "sickbay.vitals.probe.Probe.reading",
    "arming": "sickbay.vitals.probe.Probe.arm",
    "rates": "sickbay.vitals.probe.Probe.learning_rates",
    "looking again": "sickbay.vitals.probe.Probe.refresh",
    "closing": "sickbay.vitals.probe.Probe.close",
    "history": "sickbay.history.History.append",
    "chart": "sickbay.chart.ChartWriter.append",
    "chart events": "sickbay.chart.ChartWriter.event",
    "chart end": "sickbay.chart.ChartWriter.close",
    "a problem": "sickbay.problems.non_finite.NonFinite.check",
    "the ward": "sickbay.doctor.ward.Ward.judge",
    "the governor": "sickbay.doctor.governor.Governor.lap",
    "the clock": "sickbay.vitals.clock.Clock.read",
    "the voice": "sickbay.reports.terminal.show",
}


@pytest.fixture
def _no_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sickbay.reports.terminal.say", str)


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
