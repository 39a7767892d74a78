"""On a real GPU: loops with scalers, graphs, checkpointing and shards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F  # noqa: N812
from torch.utils.checkpoint import checkpoint

import sickbay
from sickbay.probe.activations import sampled
from tests.gpu.loops import ON_A_GPU, batch, model, table_of, train

pytestmark = ON_A_GPU


@pytest.mark.parametrize("fused", [False, True])
def test_gradient_scaler(fused: bool) -> None:
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), fused=fused)
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**40 if fused else 2.0**10)
    doctor = sickbay.watch(net, optimizer, every=1)
    norms = []
    for step in range(40):
        x, y = batch(step % 8)
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
        x, y = batch(step % 8)
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
        x, y = batch(step % 8)
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
        x, y = batch(step % 8)
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
    net, (x, y) = model(), batch(0)
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
    first = float(loss.detach())
    for _ in range(20):
        graph.replay()
        doctor.step(loss)
    assert float(loss.detach()) < first
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
