"""What watching costs on a GPU: `python -m benchmarks.overhead --device cuda`.

Every variant has a model, an optimizer and data of its own from the same seed: bf16, compiled,
fused AdamW, no wait in the loop. They take turns in blocks; a block ends when the device is done.
The ratio is the wall clock of a step over that of the plain loop in the same round: the median of
the rounds, with quartiles. `plain_again` is the plain loop against itself.
"""

from __future__ import annotations

import gc
import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

import sickbay
from sickbay.vitals.gpu.passes import Pass

Report = dict[str, Any]
LIMITS = {"every_1": 1.010, "default": 1.005, "all_10": 1.010}  # on GPT-2 small
NAMES = itertools.count()


@dataclass(frozen=True)
class Size:
    """A language model, its batch, and how many steps make a block."""

    vocabulary: int
    length: int
    width: int
    layers: int
    heads: int
    batch: int
    steps: int


SIZES = {
    "char_gpt": Size(65, 256, 384, 6, 6, batch=64, steps=100),
    "gpt2_small": Size(50304, 1024, 768, 12, 12, batch=16, steps=40),
}


class Loop:
    """A training loop; `share` takes the class that others use, whose graph is then used again."""

    def __init__(self, size: Size, watch: Callable[..., Any] | None, share: bool = True) -> None:
        torch.manual_seed(0)
        gpt = (shared() if share else fresh()).GPT
        made = gpt(size.vocabulary, size.length, size.width, size.layers, size.heads)
        self.model = made.cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4, fused=True)
        self.watcher: Any = watch(self.model, self.optimizer) if watch else None
        self.run_model: Any = torch.compile(self.model, fullgraph=True)
        shape = (8, size.batch, size.length + 1)
        self.data = torch.randint(size.vocabulary, shape, device="cuda")
        self.done = 0

    def run(self, steps: int) -> Any:
        """Train some steps without ever waiting; return the last loss."""
        for _ in range(steps):
            text = self.data[self.done % 8]
            self.optimizer.zero_grad()
            with torch.autocast("cuda", torch.bfloat16):
                loss: Any = self.run_model(text[:, :-1], text[:, 1:].flatten())
            loss.backward()
            self.optimizer.step()
            if self.watcher is not None:
                self.watcher.step(loss)
            self.done += 1
        return loss.detach()

    def timed(self, steps: int) -> float:
        """Return the seconds of a step."""
        torch.cuda.synchronize()
        start = perf_counter()
        self.run(steps)
        torch.cuda.synchronize()
        return (perf_counter() - start) / steps


def shared() -> Any:
    """Return the module of the models that is used by all who can."""
    return importlib.import_module("benchmarks.workloads")


def fresh() -> Any:
    """Return the module of the models anew: torch.compile keeps graphs by the code of a class."""
    path = Path(__file__).with_name("workloads.py")
    name = f"benchmarks.workloads_{next(NAMES)}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Histograms:
    """What a watch-all of loggers does: a histogram of every gradient and weight."""

    def __init__(self, model: nn.Module, _optimizer: Any) -> None:
        self.parameters = list(model.parameters())

    def step(self, _loss: Tensor) -> None:
        for each in self.parameters:
            for values in (each.grad, each.detach()):
                if values is not None:
                    values = values.flatten().float()
                    low, high = values.min().item(), values.max().item()
                    torch.histc(values, 64, low, high).cpu()


class PerParameter:
    """What a first monitor looks like: six statistics of every gradient, one by one."""

    def __init__(self, model: nn.Module, _optimizer: Any) -> None:
        self.parameters = list(model.parameters())

    def step(self, _loss: Tensor) -> None:
        for each in self.parameters:
            if (grad := each.grad) is not None:
                whole = (grad.norm(), grad.mean(), grad.std(), grad.abs().max(), grad.min())
                for value in (*whole, grad.isfinite().all()):
                    value.item()


def watching(**how: Any) -> Callable[..., Any]:
    return lambda model, optimizer: sickbay.watch(model, optimizer, on_finding="silent", **how)


VARIANTS: dict[str, tuple[Callable[..., Any] | None, bool]] = {
    "plain": (None, True),
    "plain_again": (None, True),
    "every_1": (watching(every={"gradient": 1}, activations=False), True),
    "default": (watching(), False),
    "all_10": (watching(every=10), False),
    "per_parameter": (PerParameter, True),
    "histograms": (Histograms, True),
}
SLOW = ("per_parameter", "histograms")  # a quarter of the steps is enough


def measure(size: Size, rounds: int, console: Console) -> Report:
    """Return the ratios of all variants for one model."""
    loops = {}
    for name, (watch, share) in VARIANTS.items():
        console.print(f"  making {name}")
        loops[name] = Loop(size, watch, share)
        loops[name].run(60 if name == "default" else 12)
    seconds: dict[str, list[float]] = {name: [] for name in loops}
    for turn in range(rounds):
        console.print(f"  round {turn + 1} of {rounds}")
        order = list(loops) if turn % 2 else list(reversed(loops))
        for name in order:
            steps = size.steps // 4 if name in SLOW else size.steps
            seconds[name].append(loops[name].timed(steps))
    report: Report = {"milliseconds": 1000 * median(seconds["plain"]), "variants": {}}
    for name, each in seconds.items():
        ratios = [one / plain for one, plain in zip(each, seconds["plain"], strict=True)]
        low, _, high = quantiles(ratios, n=4)
        entry: Report = {"ratio": median(ratios), "lower_quartile": low, "upper_quartile": high}
        watcher = loops[name].watcher
        if isinstance(watcher, sickbay.Doctor):
            history = watcher.history
            entry |= {
                "steps": history.step + 1,
                "tables": {
                    kind: len(history.tables(kind, 32))
                    for kind in ("gradient", "weight", "activation")
                },
                "own": watcher.overhead,
                "events": [event.text for event in watcher.events],
            }
            watcher.close()
        report["variants"][name] = entry
    return report


def measure_pass(size: Size) -> Report:
    """Return how long one pass over all gradients takes, and one read at copying speed."""
    torch.manual_seed(0)
    model = shared().GPT(size.vocabulary, size.length, size.width, size.layers, size.heads)
    grads = [torch.randn_like(each, device="cuda") * 1e-4 for each in model.parameters()]
    sizes, kinds = tuple(g.numel() for g in grads), tuple(g.dtype for g in grads)
    reader = Pass((sizes, kinds), torch.device("cuda", 0))
    source = torch.empty(2**28, device="cuda")
    target = torch.empty_like(source)
    copying = device_seconds(lambda: target.copy_(source))
    bandwidth = 2 * source.nbytes / copying
    taken = device_seconds(lambda: reader.read(grads, None, False))
    once = sum(g.nbytes for g in grads) / bandwidth
    return {
        "tensors": len(grads),
        "values": sum(sizes),
        "copy_gb_per_second": bandwidth / 1e9,
        "pass_ms": 1000 * taken,
        "one_read_ms": 1000 * once,
        "reads": taken / once,
    }


def device_seconds(work: Callable[[], object], times: int = 20, rounds: int = 7) -> float:
    """Return the seconds of work on the device, of which enough is queued that it is never idle."""
    found = []
    for _ in range(rounds):
        for _ in range(3):
            work()
        start, end = events()
        start.record()
        for _ in range(times):
            work()
        end.record()
        torch.cuda.synchronize()
        found.append(float(start.elapsed_time(end)) / times / 1000)
    return median(found)


def events() -> list[Any]:
    make: Any = torch.cuda.Event
    return [make(enable_timing=True) for _ in range(2)]


@contextmanager
def never_waiting() -> Iterator[None]:
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def check_waiting(size: Size) -> bool:
    """Tell whether no step waits for the device: any wait raises."""
    loop = Loop(size, watching(every=1), share=False)
    loop.run(3)
    with never_waiting():
        loop.run(30)
    return bool(loop.watcher.history.step == 32)


def check_bits(size: Size) -> bool:
    """Tell whether the losses of a watched loop are those of a plain one, to the bit."""
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
    """Return how much device memory watching everything at every step takes."""
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
    """Return the memory after a tenth of many steps of a small loop, and at their end."""
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
            marks[step + 1] = (torch.cuda.memory_allocated(), resident())
    doctor.close()
    (device, host), (device_end, host_end) = marks.values()
    return {
        "steps": steps,
        "device_bytes": device_end - device,
        "host_mb": host_end - host,
        "seen": doctor.history.step + 1,
    }


def resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def check_nan(size: Size) -> Report:
    """Return how many steps after a NaN in one gradient its layer is named."""
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
    while not loop.watcher._record.findings and late < 6:
        torch.cuda.synchronize()  # as in a loop that looks at its loss
        loop.run(1)
        late += 1
    found = loop.watcher.findings
    return {
        "steps_late": late,
        "problem": found[0].problem if found else None,
        "layers": list(found[0].layers)[:3] if found else [],
    }


def measure_all(quick: bool, console: Console) -> Report:
    """Measure everything."""
    report: Report = {
        "about": {
            "device": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "quick": quick,
        },
        "limits": LIMITS,
        "workloads": {},
        "passes": {},
    }
    for name, size in SIZES.items():
        console.print(name)
        report["passes"][name] = measure_pass(size)
        report["workloads"][name] = measure(size, 3 if quick else 7, console)
        torch.cuda.empty_cache()
    small = SIZES["char_gpt"]
    console.print("checks")
    report["checks"] = {
        "never waits": check_waiting(small),
        "losses the same to the bit": check_bits(small),
        "memory": check_memory(SIZES["gpt2_small"]),
        "growth": check_growth(2_000 if quick else 20_000),
        "nan": check_nan(small),
    }
    return report


def show(report: Report, console: Console) -> None:
    """Print the tables."""
    for table in tables(report):
        console.print(table)
    for name, value in report["checks"].items():
        console.print(f"{name}: {value}")


def tables(report: Report) -> Iterator[Table]:
    costs = Table(title=f"What watching costs on {report['about']['device']}")
    for column in ("model", "variant", "ratio", "quartiles", "limit"):
        costs.add_column(column)
    for name, measured in report["workloads"].items():
        for variant, entry in measured["variants"].items():
            limit = LIMITS.get(variant) if name == "gpt2_small" else None
            spread = f"{entry['lower_quartile']:.4f} to {entry['upper_quartile']:.4f}"
            costs.add_row(
                name, variant, f"{entry['ratio']:.4f}", spread, "" if limit is None else str(limit)
            )
    yield costs
    passes = Table(title="One pass over all gradients")
    for column in ("model", "tensors", "values", "pass, ms", "one read, ms", "reads"):
        passes.add_column(column)
    for name, entry in report["passes"].items():
        passes.add_row(
            name, str(entry["tensors"]), f"{entry['values']:,}", f"{entry['pass_ms']:.3f}",
            f"{entry['one_read_ms']:.3f}", f"{entry['reads']:.2f}",
        )  # fmt: skip
    yield passes
