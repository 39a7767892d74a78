"""On a real GPU: the numbers of the CPU, found without waiting, in little memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

import sickbay
from benchmarks.overhead.gpu_checks import never_waiting
from sickbay.vitals import Kind
from tests.gpu.loops import ON_A_GPU, batch, model, table_of, train

pytestmark = ON_A_GPU


@pytest.mark.parametrize("every", [1, "auto", {"gradient": 1}])
@pytest.mark.parametrize("compiled", [False, True])
def test_the_loop_never_waits(every: Any, compiled: bool) -> None:
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), fused=True)
    doctor = sickbay.watch(net, optimizer, every=every)
    run = torch.compile(net, fullgraph=True) if compiled else net
    train(run, optimizer, doctor, 12)  # both graphs are compiled by then, which does wait
    with never_waiting():
        train(run, optimizer, doctor, 30, first=12)
    history = doctor.history
    assert history.step == 41
    assert len(history.timed("loss", 99)) == 42
    assert history.tables("gradient", 99)
    assert not doctor.events
    if every == 1:
        assert [table.step for table in history.tables("gradient", 99)][-20:] == list(range(22, 42))
        assert table_of(doctor, "activation").names
        assert table_of(doctor, "weight").row("0.weight")["update_ratio"] > 0


def test_it_reads_what_a_loop_on_the_cpu_reads() -> None:
    tables = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(0)
        net = model().to(device)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        doctor = sickbay.watch(net, optimizer, every=1)
        for step in range(5):
            x, y = (each.to(device) for each in batch(step))
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            doctor.step(loss)
        history = doctor.history
        assert history.setup.task == "multiclass"
        kinds: tuple[Kind, ...] = ("gradient", "weight", "activation", "batch")
        tables.append([table_of(doctor, kind) for kind in kinds])
    for one, other in zip(*tables, strict=True):
        assert one.names == other.names
        for name in ("norm", "variance", "absmax"):
            if one.kind != "activation":
                np.testing.assert_allclose(other.column(name), one.column(name), rtol=2e-3)
    dead = [table[2].row("1")["dead_units"] for table in tables]
    assert dead[0] == pytest.approx(dead[1], abs=0.05)


@pytest.mark.parametrize("clip", [False, True])
def test_a_nan_in_one_gradient_is_named_within_two_steps(clip: bool) -> None:
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    doctor = sickbay.watch(net, optimizer, every={"gradient": 1}, on_finding="silent")
    at = 10

    def spoil(grad: Tensor) -> Tensor:
        grad = grad.clone()
        grad.view(-1)[5] = torch.nan
        return grad

    for step in range(at + 3):
        handle = net[2].weight.register_hook(spoil) if step == at else None
        x, y = batch(step % 8)
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        if clip:
            nn.utils.clip_grad_value_(net.parameters(), 1.0)
        optimizer.step()
        found = doctor.step(loss)
        loss.item()
        if handle is not None:
            handle.remove()
        if found:
            break
    assert found
    assert step <= at + 2
    assert found[0].problem == "non_finite"
    assert "2" in found[0].layers or "2.weight" in str(found[0])


def test_the_losses_are_the_same_to_the_bit() -> None:
    torch.use_deterministic_algorithms(True, warn_only=True)
    runs = []
    for watched in (False, True):
        net = model()
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
        doctor = sickbay.watch(net, optimizer, every=1) if watched else None
        runs.append(torch.stack(train(net, optimizer, doctor, 40)))
    torch.use_deterministic_algorithms(False)
    assert torch.equal(*runs)


def test_little_memory() -> None:
    net = model(1024)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    train(net, optimizer, None, 3)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    doctor = sickbay.watch(net, optimizer, every=1)
    train(net, optimizer, doctor, 10)
    doctor.findings  # noqa: B018 - everything has arrived
    optimizer.zero_grad()
    train(net, optimizer, None, 1)
    added = torch.cuda.memory_allocated() - before
    assert added <= 2**20 + 1024 * len(list(net.parameters()))


def test_a_loop_that_is_far_ahead_does_not_wait() -> None:
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    doctor = sickbay.watch(net, optimizer, every=1)
    train(net, optimizer, doctor, 5)
    torch.cuda.synchronize()
    cuda: Any = torch.cuda  # without types
    cuda._sleep(int(5e9))  # some seconds
    slept = cuda.Event()
    slept.record()
    train(net, optimizer, doctor, 6, first=5)  # more would fill the device's queue, which waits
    assert not slept.query()  # the loop has not waited for the device
    assert doctor._history.step < 10  # it is still under way
    assert doctor.history.step == 10
