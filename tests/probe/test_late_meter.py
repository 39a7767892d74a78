"""Loops measured by a late meter, whose kernels run in Triton's interpreter on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

import sickbay
from sickbay.doctor import doctor as doctor_module
from sickbay.doctor import intake
from sickbay.probe.meter import Meter, choose_meter
from sickbay.vitals import Kind
from tests.probe.test_late_statistics import SAMPLED, check

pytest.importorskip("triton")
pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="tests/gpu are for this")


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

    monkeypatch.setattr(doctor_module, "choose_meter", chosen)


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
