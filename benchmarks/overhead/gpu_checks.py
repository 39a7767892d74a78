"""Checks on a GPU besides speed: no synchronisation, equal losses, little memory, NaNs found."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.overhead.gpu_loops import Loop, Report, Size, shared, watching
from benchmarks.overhead.long_run import resident_megabytes


@contextmanager
def never_waiting() -> Iterator[None]:
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def check_waiting(size: Size) -> bool:
    """Return whether no step waits for the device. Any wait raises."""
    loop = Loop(size, watching(every=1), share=False)
    loop.run(3)
    with never_waiting():
        loop.run(30)
    return bool(loop.watcher.history.step == 32)


def check_bits(size: Size) -> bool:
    """Return whether the losses of a watched loop equal those of a plain loop bit for bit."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        losses = []
        for watch in (None, watching(every=1)):
            loop = Loop(size, watch, share=False)
            losses.append(torch.stack([loop.run(1) for _ in range(30)]))
        return bool(torch.equal(*losses))
    finally:
        torch.use_deterministic_algorithms(False)


def check_memory(size: Size) -> Report:
    """Return the device memory needed to read everything at every step."""
    held = []
    for watch in (None, watching(every=1)):
        gc.collect()
        before = torch.cuda.memory_allocated()
        loop = Loop(size, watch, share=False)
        loop.run(5)
        loop.optimizer.zero_grad()
        torch.cuda.synchronize()
        held.append(torch.cuda.memory_allocated() - before)
        count = len(list(loop.model.parameters()))
        del loop
    modules = sum(1 for each in shared().GPT(8, 8, 8, size.layers, 1).modules())
    return {
        "added_bytes": held[1] - held[0],
        "limit_bytes": 2**20 + 1024 * (count + modules),
        "parameters": count,
        "modules": modules,
    }


def check_growth(steps: int) -> Report:
    """Return how much memory grows between a tenth of a long run and its end."""
    gc.collect()
    torch.manual_seed(0)
    layers = [part for _ in range(6) for part in (nn.Linear(256, 256), nn.ReLU())]
    model = nn.Sequential(*layers).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    doctor = watching(every={"gradient": 1, "weight": 10, "activation": 10})(model, optimizer)
    data, marks = torch.randn(32, 256, device="cuda"), {}
    for step in range(steps):
        optimizer.zero_grad()
        loss = F.mse_loss(model(data), data)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss)
        if step + 1 in (steps // 10, steps):
            torch.cuda.synchronize()
            marks[step + 1] = (torch.cuda.memory_allocated(), resident_megabytes())
    doctor.close()
    (device, host), (device_end, host_end) = marks.values()
    return {
        "steps": steps,
        "device_bytes": device_end - device,
        "host_mb": host_end - host,
        "seen": doctor.history.step + 1,
    }


def check_nan(size: Size) -> Report:
    """Return how many steps after a NaN in a gradient its layer is reported."""
    loop = Loop(size, watching(every={"gradient": 1}, activations=False), share=False)
    loop.run(10)
    parameter = loop.model.get_parameter("blocks.2.up.weight")

    def spoil(grad: Tensor) -> Tensor:
        grad = grad.clone()
        grad.view(-1)[12345] = torch.nan
        return grad

    handle = parameter.register_hook(spoil)
    loop.run(1)
    handle.remove()
    late = 0
    while not loop.watcher._log.findings and late < 6:
        torch.cuda.synchronize()  # as in a loop that reads its loss
        loop.run(1)
        late += 1
    found = loop.watcher.findings
    return {
        "steps_late": late,
        "problem": found[0].problem if found else None,
        "layers": list(found[0].layers)[:3] if found else [],
    }
