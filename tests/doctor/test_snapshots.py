"""Going back to healthy weights: when they are kept, how they come back, how often."""

from math import inf, nan

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam

from sickbay.doctor import snapshots as under_test
from sickbay.doctor.snapshots import Snapshot, Snapshots, apart
from sickbay.doctor.treatment import Treater
from sickbay.history import History
from sickbay.probe.finite import all_finite
from sickbay.remedies import HalveLearningRate, RollBack
from sickbay.vitals import Vitals
from tests.doctor.test_step_adjustments import find, treating, update
from tests.doctor.treated import learn, regression, remedies, state_of, treated


def pass_time(treater: Treater, *steps: int) -> None:
    for step in steps:
        treater._history.append(Vitals(step=step))
        treater.act(standing=[])


def test_back_three_times_at_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    given = (RollBack(), HalveLearningRate())
    model, optimizer, doctor, treater = treating(monkeypatch, *given, problem="loss_spike")
    pass_time(treater, 20, 21)
    healthy = state_of(model)
    for step in (50, 100, 150, 200):
        update(model, optimizer)
        assert not same(model, healthy)
        assert find(treater, step, "loss_spike")
        assert same(model, healthy) is (step < 200)
    assert remedies(doctor) == [*3 * ["roll_back"], "halve_learning_rate"]


def same(model: nn.Module, state: dict[str, Tensor]) -> bool:
    return all(torch.equal(value, state[name]) for name, value in model.state_dict().items())


def test_going_back_can_be_undone_until_the_next_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    model, optimizer, doctor, treater = treating(monkeypatch, RollBack(), problem="loss_spike")
    pass_time(treater, 20, 21)
    update(model, optimizer)
    damaged = state_of(model)
    assert find(treater, 50, "loss_spike")
    assert not same(model, damaged)
    assert doctor.treatments[0].undo()
    assert same(model, damaged)
    assert not doctor.treatments[0].undo()
    assert find(treater, 100, "loss_spike")
    pass_time(treater, 199, 200)
    assert doctor.treatments[1].undo()  # not yet a hundred steps later
    assert find(treater, 250, "loss_spike")
    pass_time(treater, 350, 351)
    assert not doctor.treatments[2].undo()


def test_no_snapshot_is_taken_while_something_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    treater = treating(monkeypatch, RollBack())[-1]
    for step in (20, 21):
        treater._history.append(Vitals(step=step))
        treater.act(standing=["exploding_gradient"])
    assert treater._snapshots.healthy is None
    assert treater.may_pass > 50
    pass_time(treater, 22)
    assert treater.may_pass == 0
    pass_time(treater, 23)
    assert treater._snapshots.healthy is not None
    assert treater.may_pass == 98  # to look again at step 122


def test_a_snapshot_must_prove_itself() -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02)
    doctor = treated(model, optimizer, problems=[])
    assert doctor._treater is not None
    keeper, history = doctor._treater._snapshots, doctor._treater._history
    for step in range(21):
        history.append(Vitals(step=step, scalars={"loss": 1.0}))
        keeper.look(calm=True)
    assert keeper.healthy is None
    history.append(Vitals(step=21, scalars={"loss": 1.1}))  # the first loss of those weights
    keeper.look(calm=True)
    assert keeper.healthy is None
    for step in (121, 122, 123):
        history.append(Vitals(step=step, scalars={"loss": 1.0 if step > 121 else 1.2}))
        keeper.look(calm=True)
    assert keeper.healthy is not None
    assert keeper.healthy.step == 122  # at 121 the loss was above its level
    for step in (200, 201):
        history.append(Vitals(step=step, scalars={"loss": 0.95}))
        keeper.look(calm=True)
    assert keeper.healthy.step == 122  # not a hundred steps later yet
    with torch.no_grad():
        next(model.parameters())[0, 0] = nan
    for step in (300, 301):
        history.append(Vitals(step=step, scalars={"loss": 0.9}))
        keeper.look(calm=True)
    assert keeper.healthy.step == 122
    model[0] = nn.Linear(8, 32)
    assert keeper.healthy is None


@pytest.mark.parametrize(
    ("price", "allowance", "expected"),
    [
        pytest.param(0.009, 1e-9, 100, id="cheap"),
        pytest.param(0.01, 1e-3, 100, id="affordable"),
        pytest.param(0.2, 1e-3, 200, id="dear"),
        pytest.param(0.2004, 1e-3, 201, id="rounded-up"),
        pytest.param(9.0, 1e-3, 1000, id="too-dear"),
        pytest.param(9.0, 0.0, 1000, id="nothing-to-spend"),
    ],
)
def test_how_far_snapshots_are_apart(price: float, allowance: float, expected: int) -> None:
    assert apart(price, allowance) == expected


def test_dear_snapshots_are_taken_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 103.0, 103.05])  # 3 seconds for 30 steps, 0.05 for the snapshot
    monkeypatch.setattr(under_test, "perf_counter", lambda: next(clock))
    history, model = History(), regression()
    history.append(Vitals(step=0, scalars={"loss": 1.0}))
    keeper = Snapshots(model, [SGD(model.parameters(), lr=0.02)], history, budget=0.001)
    history.append(Vitals(step=30, scalars={"loss": 1.0}))
    keeper.look(calm=True)
    history.append(Vitals(step=31, scalars={"loss": 1.0}))
    keeper.look(calm=True)
    assert keeper.healthy is not None
    assert keeper.may_pass == 30 + 1000 - 1 - 31


def test_a_snapshot_holds_the_state_of_the_optimizer_too() -> None:
    model = regression(norm=True)
    optimizer = Adam(model.parameters(), lr=0.02)
    first = next(model.parameters())
    empty = Snapshot(model, [optimizer], 0)
    learn(model, optimizer, None, steps=3)
    snapshot = Snapshot(model, [optimizer], 3)
    moments = optimizer.state[first]["exp_avg"]
    state, old = state_of(model), moments.clone()
    learn(model, optimizer, None, steps=3)
    snapshot.restore()
    assert same(model, state)
    assert optimizer.state[first]["exp_avg"] is moments
    assert torch.equal(moments, old)
    assert optimizer.state[first]["step"] == 3
    empty.restore()
    assert not optimizer.state


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([torch.ones(3), torch.ones(2, dtype=torch.float64)], True, id="two-kinds"),
        pytest.param([torch.full((9,), 3e38)], True, id="norm-overflows"),
        pytest.param([torch.full((9,), 6e4, dtype=torch.float16)], True, id="half-precision"),
        pytest.param([torch.ones(3), torch.tensor([0.0, nan])], False, id="nan"),
        pytest.param([torch.tensor(-inf)], False, id="minus-inf"),
        pytest.param([torch.tensor([1.0, inf], dtype=torch.bfloat16)], False, id="half-inf"),
        pytest.param([torch.tensor([1j, complex(0, nan)])], False, id="complex"),
        pytest.param([torch.tensor([1, 2]), torch.ones(0)], True, id="whole-and-empty"),
        pytest.param([torch.tensor([0.0, nan]).to_sparse()], False, id="sparse"),
        pytest.param([], True, id="none"),
    ],
)
def test_all_finite(values: list[Tensor], expected: bool) -> None:
    assert all_finite(values) is expected
