"""The GPU's way of measuring, run on the CPU by Triton's interpreter: same numbers, only later."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

import sickbay
from sickbay.doctor import doctor as clinic
from sickbay.doctor import intake
from sickbay.probe.meter import Meter, choose_meter
from sickbay.probe.statistics import measure
from sickbay.vitals import COLUMN, STATISTICS, Kind

triton = pytest.importorskip("triton")
pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="tests/gpu are for this")
SHORT = 32  # values a tensor is sampled by here: the interpreter is slow
SAMPLED = ("lower_quartile", "median", "upper_quartile", "mean_abs")


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the module of the late meter, with a short sample."""
    from sickbay.probe.gpu import late_meter, memory_pass, merge_kernel

    monkeypatch.setattr(merge_kernel, "SAMPLE_", triton.language.constexpr(SHORT))
    monkeypatch.setattr(merge_kernel, "KEPT_", triton.language.constexpr(SHORT))
    monkeypatch.setattr(memory_pass, "SAMPLE", SHORT)
    monkeypatch.setattr(memory_pass, "KEPT", SHORT)
    memory_pass.jitter.cache_clear()
    return late_meter


def check(got: Any, expected: Any, left_out: tuple[str, ...] = SAMPLED) -> None:
    for name, column in COLUMN.items():
        if name not in left_out:
            np.testing.assert_allclose(
                got[:, column], expected[:, column], rtol=1e-4, atol=1e-7, err_msg=name
            )


def test_the_numbers_are_those_of_the_cpu(late: Any) -> None:
    torch.manual_seed(0)
    odd = torch.randn(2500) * 1e-10
    odd[7], odd[2100] = torch.nan, torch.inf
    tensors = [
        torch.randn(5000) ** 3,  # more than whole blocks
        1 + 1e-3 * torch.randn(9, 9),  # a mean that is far larger than the spread
        odd,
        torch.randn(60).bfloat16(),
        torch.randn(30).half(),
        torch.zeros(40),
        torch.full((3,), 2.5),
        torch.empty(0),
        torch.randn(20, 30).t(),
    ]
    meter = late.LateMeter()
    got = meter.measure("some", tensors)
    assert np.isnan(got).all()  # nothing is there before the ticket has arrived
    meter.ticket().take()
    check(got, measure(tensors))
    small = measure([tensors[4]])[0]
    for name in SAMPLED:  # of a small tensor the sample is all of it
        assert got[4, COLUMN[name]] == pytest.approx(small[COLUMN[name]], rel=1e-5)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")  # of the interpreter
@pytest.mark.parametrize("size", [1e-25, 1e-12, 1e12, 1e25])
def test_values_that_no_probe_has_met(late: Any, size: float) -> None:
    values = torch.zeros(4096)
    values[1::37] = size * torch.randn(111)  # a chunk is probed at every 16th value
    values[::16] = 0
    meter = late.LateMeter()
    got = meter.measure("some", [values])
    meter.ticket().take()
    expected = measure([values])
    for name in ("norm", "variance", "skewness", "kurtosis", "absmax"):
        assert got[0, COLUMN[name]] == pytest.approx(expected[0, COLUMN[name]], rel=1e-4), name


def test_passes_over_tensors_of_many_sizes_are_let_go(late: Any) -> None:
    meter = late.LateMeter()
    for size in range(1, late.PASSES + 5):
        meter.measure("sample", [torch.ones(size)])
        meter.measure("gradient", [torch.ones(3)])  # in use all the time
    assert len(meter._passes) == late.PASSES
    assert any(key[0] == "gradient" for key in meter._passes)


def test_a_scale_is_divided_out(late: Any) -> None:
    meter, values = late.LateMeter(), torch.randn(30)
    got = meter.measure("some", [1024 * values], torch.tensor(1 / 1024))
    meter.ticket().take()
    check(got, measure([values]), left_out=())


def test_a_pass_is_used_again_and_finds_tensors_that_have_moved(late: Any) -> None:
    meter = late.LateMeter()
    for step in range(3):
        value = torch.full((20,), float(step))
        got = meter.measure("some", [value])
        meter.ticket().take()
        assert got[0, COLUMN["mean"]] == step
    assert len(meter._passes) == 1


def test_how_far_weights_move(late: Any) -> None:
    meter, weights = late.LateMeter(), [torch.ones(30), torch.zeros(5)]
    held = meter.hold("weight", weights)
    weights[0] += 0.1
    moved = held.moved()
    meter.ticket().take()
    np.testing.assert_allclose(moved[0], [0.1, 30 * 0.01, 30], rtol=1e-5)
    assert np.isnan(moved[1, 0])


def test_when_too_much_is_under_way_nothing_more_is_asked_for(late: Any) -> None:
    meter = late.LateMeter()
    tickets = [meter.ticket() for _ in range(late.MOST)]
    assert meter.full
    tickets[0].take()
    assert not meter.full


def test_many_calls_without_a_step_of_the_optimizer(
    late: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    meter = late.LateMeter()
    use(monkeypatch, meter)
    monkeypatch.setattr(intake, "is_on_device", torch.is_tensor)
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = sickbay.watch(model, optimizer, on_finding="silent")
    for _ in range(600):
        doctor.step(torch.tensor(1.0))
    assert len(meter._fills) == intake.SENT
    assert any("optimizer" in event.text for event in doctor.events)


def test_what_is_under_way_keeps_no_gradients(late: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, delayed(late, looks=99))
    doctor = train(3, every={"gradient": 1})  # it clips, so gradients are read twice
    kept = [each.gradients.raw for each in doctor._intake._waiting if each.gradients is not None]
    assert len(kept) == 3
    assert not any(raw.grads for raw in kept if raw is not None)


def test_time_on_the_device_counts(late: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late.Ticket, "costs", lambda _self: {"gradient": 100.0})
    use(monkeypatch, late.LateMeter())
    assert train(2, every={"gradient": 1})._governor.own_time > 200


@pytest.mark.parametrize("kind", ["sparse", "nested"])
def test_inputs_that_cannot_be_cut_do_no_harm(
    late: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    use(monkeypatch, late.LateMeter())

    class Dense(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(3, 2)

        def forward(self, values: Tensor) -> Any:
            return self.inner(values.to_dense() if kind == "sparse" else values.values())

    model = Dense()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = sickbay.watch(model, optimizer, every={"batch": 1}, on_finding="silent")
    rows = torch.ones(4, 3)
    nested = torch.nested.nested_tensor([rows[:1], rows[1:]], layout=torch.jagged)
    model(rows.to_sparse() if kind == "sparse" else nested).sum().backward()
    optimizer.step()
    doctor.step(0.5)
    assert doctor.history.step == 0


def train(steps: int = 2, every: Any = 1) -> sickbay.Doctor:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5), nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = sickbay.watch(model, optimizer, every=every, on_finding="silent")
    for _ in range(steps):
        x, y = torch.randn(4, 6), torch.randint(5, (4,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        doctor.step(loss)
    return doctor


def use(monkeypatch: pytest.MonkeyPatch, meter: Meter) -> None:
    def chosen(_parameters: Any) -> Meter:
        return meter

    monkeypatch.setattr(clinic, "choose_meter", chosen)


def test_a_loop_is_read_in_the_same_way(late: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = train().history
    use(monkeypatch, late.LateMeter())
    later = train().history
    assert later.step == at_once.step
    assert later.setup == at_once.setup
    assert later.recent("loss", 9) == at_once.recent("loss", 9)
    np.testing.assert_allclose(
        later.recent("update_ratio", 9), at_once.recent("update_ratio", 9), rtol=1e-4
    )
    kinds: tuple[Kind, ...] = ("gradient", "raw_gradient", "weight", "activation", "batch")
    for kind in kinds:
        one, other = later.table(kind), at_once.table(kind)
        assert one is not None
        assert other is not None
        assert (one.step, one.names) == (other.step, other.names)
        units = ("dead_units", "lasting_dead")  # looked at where there is a ReLU
        check(one.values, other.values, () if kind == "batch" else (*SAMPLED, *units))
        if kind == "activation":
            assert [one.row("1")[name] for name in units] == [
                other.row("1")[name] for name in units
            ]


class Slow:
    """A ticket that is not there for some steps."""

    def __init__(self, ticket: Any, looks: int) -> None:
        self.ticket, self.looks = ticket, looks

    def is_there(self) -> bool:
        self.looks -= 1
        return self.looks < 0

    def take(self) -> None:
        self.ticket.take()

    def costs(self) -> dict[str, float]:
        return {}


def delayed(late: Any, looks: int = 2) -> Meter:
    class Delayed(late.LateMeter):  # type: ignore[misc]
        def ticket(self) -> Any:
            return Slow(super().ticket(), looks)

    return Delayed()


def test_what_is_under_way_comes_in_order_and_nothing_is_lost(
    late: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, delayed(late))
    doctor = train(4, every={"gradient": 1})
    assert doctor._history.step < 3  # some is still under way
    tables = doctor.history.tables("gradient", 9)  # whoever looks waits
    assert [table.step for table in tables] == [0, 1, 2, 3]
    assert len(doctor.history.recent("loss", 9)) == 4


@pytest.mark.parametrize("looked", [True, False])
def test_a_nan_is_found_with_its_layer(
    late: Any, monkeypatch: pytest.MonkeyPatch, looked: bool
) -> None:
    use(monkeypatch, delayed(late))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = sickbay.watch(model, optimizer, every={"gradient": 1}, on_finding="silent")

    def spoil(grad: Tensor) -> Tensor:
        return grad.clone().index_fill_(0, torch.tensor([1]), torch.nan)

    weight: Any = model[0].weight
    weight.register_hook(spoil)
    model(torch.randn(4, 3)).square().mean().backward()
    optimizer.step()
    assert doctor.step(0.5) == []
    (found,) = doctor.findings if looked else doctor.epoch()
    assert (found.problem, found.step) == ("non_finite", 0)
    assert "0" in found.layers
    assert doctor.epoch() == ([found] if looked else [])  # everything is told once


def test_who_measures() -> None:
    assert type(choose_meter([torch.zeros(2)])) is Meter


def test_the_kernel_writes_the_statistics_in_their_order(late: Any) -> None:
    meter, values = late.LateMeter(), torch.arange(5.0)
    got = meter.measure("some", [values])
    meter.ticket().take()
    row = dict(zip(STATISTICS, got[0].tolist(), strict=True))
    assert (row["count"], row["minimum"]) == (5, 0)
    assert (row["lower_quartile"], row["median"], row["upper_quartile"]) == (1, 2, 3)
    assert (row["maximum"], row["absmax"], row["mean"], row["mean_abs"]) == (4, 4, 2, 2)
    assert (row["variance"], row["zeros"], row["nonfinite"]) == pytest.approx((2, 0.2, 0))
