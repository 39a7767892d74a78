"""On a real GPU: the same numbers as on the CPU, without ever waiting, whatever the loop does."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.checkpoint import checkpoint

import sickbay
from benchmarks.overhead.gpu_checks import never_waiting
from sickbay.probe.activations import sampled
from sickbay.vitals import Kind, Table

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def model(width: int = 64) -> Any:
    torch.manual_seed(0)
    layers = [nn.Linear(16, width), nn.ReLU(), nn.Linear(width, width), nn.GELU()]
    return nn.Sequential(*layers, nn.LayerNorm(width), nn.Linear(width, 4)).cuda()


def batch(step: int = 0) -> tuple[Tensor, Tensor]:
    own = torch.Generator().manual_seed(step)
    x, y = torch.randn(32, 16, generator=own), torch.randint(4, (32,), generator=own)
    return x.cuda(), y.cuda()


def train(net: Any, optimizer: Any, doctor: Any, steps: int, *, first: int = 0) -> list[Tensor]:
    losses = []
    for step in range(first, first + steps):
        x, y = batches[step % len(batches)]
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if doctor is not None:
            doctor.step(loss)
        losses.append(loss.detach())
    return losses


def table_of(doctor: sickbay.Doctor, kind: Kind) -> Table:
    table = doctor.history.table(kind)
    assert table is not None
    return table


@pytest.fixture(autouse=True)
def _batches() -> None:
    global batches
    batches = [batch(step) for step in range(8)]


batches: list[tuple[Tensor, Tensor]] = []


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
            x, y = (each.to(device) for each in batches[step])
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
        x, y = batches[step % 8]
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


@pytest.mark.parametrize("fused", [False, True])
def test_gradient_scaler(fused: bool) -> None:
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), fused=fused)
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**40 if fused else 2.0**10)
    doctor = sickbay.watch(net, optimizer, every=1)
    norms = []
    for step in range(40):
        x, y = batches[step % 8]
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = F.cross_entropy(net(x), y)
        scaled: Any = scaler.scale(loss)
        scaled.backward()
        scale = scaler.get_scale()
        grads = [each.grad.double() / scale for each in net.parameters()]
        norms.append(float(torch.stack([each.norm() for each in grads]).norm()))
        scaler.step(optimizer)
        scaler.update()
        doctor.step(loss)
    history = doctor.history
    read = dict(history.timed("grad_norm", 99))
    assert len(read) > 10
    for step, norm in read.items():
        assert norm == pytest.approx(norms[step], rel=1e-2), step
    assert history.step == 39


def test_accumulation_and_several_passes() -> None:
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    doctor = sickbay.watch(net, optimizer, every=1)
    for step in range(12):
        x, y = batches[step % 8]
        loss = F.cross_entropy(net(x), y) / 3
        loss.backward()  # type: ignore[no-untyped-call]
        if step % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()
        doctor.step(loss)
    assert doctor.history.step == 3
    assert len(doctor.history.tables("gradient", 9)) == 4


def test_cuda_graphs() -> None:
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    doctor = sickbay.watch(net, optimizer, every=2)
    run: Any = torch.compile(net, mode="reduce-overhead")
    begin: Any = torch.compiler.cudagraph_mark_step_begin
    for step in range(20):
        begin()
        x, y = batches[step % 8]
        optimizer.zero_grad()
        loss = F.cross_entropy(run(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss)
    history = doctor.history
    assert len(history.tables("gradient", 99)) == 10
    assert all(table.is_finite for table in history.tables("gradient", 99))
    assert history.tables("activation", 99)


def test_activation_checkpointing() -> None:
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    doctor = sickbay.watch(net, optimizer, every=1)
    for step in range(6):
        x, y = batches[step % 8]
        optimizer.zero_grad()
        inner = checkpoint(lambda values: net[:4](values), x, use_reentrant=False)
        loss = F.cross_entropy(net[4:](inner), y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss)
    table = table_of(doctor, "activation")
    once = sampled(torch.empty(32, 64)).numel()
    assert table.row("0")["count"] == once  # what is computed again in backward is not heard twice
    assert len(doctor.history.tables("gradient", 9)) == 6


def test_hooks_that_a_reused_graph_does_not_call_are_told_of() -> None:
    first = model()
    run = torch.compile(first, fullgraph=True)
    optimizer = torch.optim.SGD(first.parameters(), lr=0.05)
    train(run, optimizer, None, 3)
    doctor = sickbay.watch(first, optimizer, every=1)
    train(run, optimizer, doctor, 5)
    assert doctor.history.table("activation") is None
    assert any("compiled before it was watched" in event.text for event in doctor.events)


def test_a_captured_step_is_left_alone() -> None:
    net, (x, y) = model(), batches[0]
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    doctor = sickbay.watch(net, optimizer, every=1)
    train(net, optimizer, doctor, 3)
    graph: Any = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        loss = F.cross_entropy(net(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    graph.replay()
    first = float(loss)
    for _ in range(20):
        graph.replay()
        doctor.step(loss)
    assert float(loss) < first
    assert not [event for event in doctor.events if event.kind == "trouble"]


def test_shards_of_a_distributed_model(tmp_path: Path) -> None:
    from torch.distributed import destroy_process_group, init_process_group
    from torch.distributed.fsdp import fully_shard

    init_process_group("nccl", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        net = model()
        for layer in (net[0], net[2], net[5]):
            fully_shard(layer)
        fully_shard(net)
        optimizer = torch.optim.AdamW(net.parameters())
        doctor = sickbay.watch(net, optimizer, every=1)
        train(net, optimizer, doctor, 6)
        table = table_of(doctor, "gradient")
        assert len(doctor.history.tables("gradient", 9)) == 6
        assert {"0.weight", "5.bias"} <= set(table.names)
        assert (table.column("norm") > 0).all()
        assert table_of(doctor, "weight").row("0.weight")["update_ratio"] > 0
        assert not [event for event in doctor.events if event.kind == "trouble"]
    finally:
        destroy_process_group()


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
    sleep: Any = torch.cuda._sleep
    sleep(int(5e9))  # some seconds
    start = perf_counter()
    train(net, optimizer, doctor, 6, first=5)  # more would fill the device's queue, which waits
    assert perf_counter() - start < 1.5
    assert doctor._history.step < 10  # it is still under way
    assert doctor.history.step == 10
