"""What live treatment does to a loop, step by step: bounds, ends, schedules, scalers, closures."""

from dataclasses import dataclass
from itertools import count
from math import inf
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR

from sickbay.doctor import Doctor, live_remedies, snapshots, step_adjustments
from sickbay.doctor.treatment import Treater
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.probe.finite import all_finite
from sickbay.problems import Problem
from sickbay.recipe import Recipe
from sickbay.remedies import (
    ClipNorm,
    ClipValues,
    HalveLearningRate,
    Remedy,
    TrainMode,
)
from sickbay.vitals import Vitals
from tests.doctor.treated import learn, nan_at, regression, remedies, state_of, treated


def treating(
    monkeypatch: pytest.MonkeyPatch, *given: Remedy, problem: str = "plateau", rate: float = 0.1
) -> tuple[nn.Module, Optimizer, Doctor, Treater]:
    """Return a treated model whose treater knows these remedies only."""
    monkeypatch.setattr(snapshots, "CHEAP", inf)  # however busy the machine is
    monkeypatch.setattr(live_remedies, "CHOICES", {problem: given})
    model = regression()
    optimizer = SGD(model.parameters(), lr=rate)
    doctor = treated(model, optimizer)
    assert doctor._treater is not None
    return model, optimizer, doctor, doctor._treater


def find(treater: Treater, step: int, problem: str = "plateau") -> bool:
    treater._history.append(Vitals(step=step))
    planned = treater.plan(Finding(problem=problem, step=step))
    treater.act(standing=[])
    return planned


def update(model: nn.Module, optimizer: Optimizer, factor: float = 1.0) -> Tensor:
    """Return what one step on fixed data adds to the first weights."""
    weight = next(model.parameters())
    before = weight.detach().clone()
    optimizer.zero_grad()
    (factor * model(torch.ones(4, 8)).sum()).backward()
    optimizer.step()
    change = weight.detach() - before
    weight.data.copy_(before)
    return change


def restore(model: nn.Module, state: dict[str, Tensor]) -> None:
    model.load_state_dict({name: value.clone() for name, value in state.items()})


def test_a_halved_learning_rate_and_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    model, optimizer, doctor, treater = treating(monkeypatch, HalveLearningRate())
    start = state_of(model)
    full = update(model, optimizer)
    changes = []
    for step in (10, 60):
        assert find(treater, step)
        restore(model, start)
        changes.append(update(model, optimizer))
        assert optimizer.param_groups[0]["lr"] == 0.1
    assert torch.allclose(changes[0], full / 2, atol=1e-6)
    assert torch.allclose(changes[1], full / 4, atol=1e-6)
    first, second = doctor.treatments
    assert first.text == "halved the learning rate (x0.5) because of plateau at step 10"
    assert "(x0.5, x0.25 in all)" in second.text
    assert first.undo()
    assert not first.undo()
    restore(model, start)
    assert torch.allclose(update(model, optimizer), full / 2, atol=1e-6)
    doctor.close()
    restore(model, start)
    assert torch.equal(update(model, optimizer), full)
    kinds = [event.kind for event in doctor.events]
    assert kinds == 3 * ["treatment"]
    assert doctor.events[-1].text == f"undone: {first.text}"


@pytest.mark.parametrize(
    ("remedy", "limit"), [(ClipNorm(limit=0.5), "norm"), (ClipValues(limit=0.1), "value")]
)
def test_clipping_and_its_end(remedy: Remedy, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, optimizer, doctor, treater = treating(monkeypatch, remedy)
    start = state_of(model)
    full = update(model, optimizer, factor=10)
    assert find(treater, 10)
    restore(model, start)
    update(model, optimizer, factor=10)
    grads = torch.cat([each.grad.flatten() for each in model.parameters() if each.grad is not None])
    size = float(grads.norm() if limit == "norm" else grads.abs().max())
    assert size == pytest.approx(0.5 if limit == "norm" else 0.1, rel=1e-4)
    assert not find(treater, 100)  # it has it already
    assert doctor.treatments[0].undo()
    restore(model, start)
    assert torch.equal(update(model, optimizer, factor=10), full)


def test_clipping_after_a_spike_leaves_the_usual_norm_alone() -> None:
    recipe = recipe_of_sgd()
    spike = Finding(problem="gradient_spike", step=3, evidence={"now": 90.0, "usual_norm": 7.0})
    clipped = ClipNorm().prescribe(spike, recipe)
    assert clipped is not None
    assert clipped.clip_norm == 7.0
    assert "7" in clipped.code[-1]
    loss_spike = Finding(problem="loss_spike", step=3, evidence={"high": 7.0})
    other = ClipNorm().prescribe(loss_spike, recipe)
    assert other is not None
    assert other.clip_norm == 1.0


def recipe_of_sgd() -> Recipe:
    model = regression()
    return Recipe(model, nn.MSELoss(), SGD(model.parameters(), lr=0.1))


@pytest.mark.parametrize("kind", ["lambda", "cosine"])
def test_halving_outlives_a_schedule_and_does_not_bend_it(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rates(treat: bool) -> tuple[list[float], list[float]]:
        model, optimizer, doctor, treater = treating(monkeypatch, HalveLearningRate())
        schedule: Any = (
            LambdaLR(optimizer, lambda step: 0.97**step)
            if kind == "lambda"
            else CosineAnnealingLR(optimizer, 50)
        )
        own, used = [], []
        seen = optimizer.register_step_post_hook  # after ours: what the loop sees
        seen(lambda optimizer, *_: own.append(optimizer.param_groups[0]["lr"]))
        optimizer.register_step_pre_hook(
            lambda optimizer, *_: used.append(optimizer.param_groups[0]["lr"])
        )
        for step in range(30):
            update(model, optimizer)
            schedule.step()
            if treat and step == 9:
                assert find(treater, 10)
        doctor.close()
        return own, used

    plain, _ = rates(treat=False)
    own, used = rates(treat=True)
    assert own == plain
    assert used[:10] == plain[:10]
    assert used[10:] == pytest.approx([0.5 * rate for rate in plain[10:]])


def test_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, doctor, treater = treating(monkeypatch, ClipNorm(), HalveLearningRate())
    found = [step for step in range(0, 1000, 10) if find(treater, step)]
    assert found == [0, 50, 100, 150, 200]
    assert remedies(doctor) == ["clip_norm", *4 * ["halve_learning_rate"]]


def test_the_learning_rate_keeps_a_hundredth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_remedies, "MOST", 100)
    _, optimizer, doctor, treater = treating(monkeypatch, HalveLearningRate())
    for step in range(0, 1000, 50):
        find(treater, step)
    assert len(doctor.treatments) == 6  # 1/64
    optimizer.param_groups[0]["lr"] = 0.0
    assert not find(treater, 2000)


def test_the_training_mode_and_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _, doctor, treater = treating(monkeypatch, TrainMode(), problem="wrong_mode")
    assert not find(treater, 3, "wrong_mode")
    model.eval()
    assert find(treater, 4, "wrong_mode")
    assert all(module.training for module in model.modules())
    assert doctor.treatments[0].undo()
    assert not any(module.training for module in model.modules())


def test_skipping_can_be_ended() -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    doctor = treated(model, optimizer)
    learn(model, optimizer, doctor, nan_at(3), steps=5)
    assert doctor.treatments[0].undo()
    learn(model, optimizer, doctor, nan_at(3), steps=5)
    assert not all_finite(model.parameters())
    assert len(doctor.treatments) == 1


def test_trouble_of_ours_does_not_reach_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    model, optimizer, doctor, treater = treating(monkeypatch, HalveLearningRate())
    assert find(treater, 10)
    full = optimizer.param_groups[0]["lr"]

    def broken(*_: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(step_adjustments, "clip_gradients", broken)
    update(model, optimizer)
    update(model, optimizer)
    assert optimizer.param_groups[0]["lr"] == full
    assert [event.kind for event in doctor.events if "broken" in event.text] == ["trouble"]


def test_what_is_found_at_the_end_of_an_epoch_is_treated_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Plateau(Problem):
        advice = ""
        reads = ("epoch",)

        def check(self, history: History) -> Finding | None:
            return self.found(history, "it is flat") if history.epoch else None

    monkeypatch.setattr(live_remedies, "CHOICES", {"plateau": [HalveLearningRate()]})
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    doctor = treated(model, optimizer, problems=[Plateau()])
    learn(model, optimizer, doctor, steps=21)
    assert doctor._treater is not None
    doctor._treater._snapshots.look(calm=True)  # the same step again
    assert doctor._treater._snapshots.healthy is None
    doctor.epoch()
    assert remedies(doctor) == ["halve_learning_rate"]


def test_the_cost_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    doctor = treated(model, optimizer)
    learn(model, optimizer, doctor, steps=3)
    assert set(doctor._clock.read()) == {"bookkeeping", "passing", "treatment"}
    optimizer.step()
    assert "looking" in doctor._clock.read()
    monkeypatch.setattr(step_adjustments, "perf_counter", count(0, 500).__next__)
    before = doctor._governor.own_time
    learn(model, optimizer, doctor, steps=1)
    assert 500 < doctor._governor.own_time - before < 600


def test_what_has_no_live_remedy_is_said_with_advice(capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    layers = [part for _ in range(12) for part in (nn.Linear(8, 8), nn.Sigmoid())]
    model = nn.Sequential(*layers, nn.Linear(8, 1))
    optimizer = SGD(model.parameters(), lr=1e-3)
    doctor = treated(model, optimizer, problems=["vanishing_gradient"])
    learn(model, optimizer, doctor, steps=10)
    assert len(doctor.findings) == 1
    assert "  try  " in capsys.readouterr().err
    assert doctor.treatments == []
