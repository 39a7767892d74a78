"""Measure what watching costs on a GPU: `python -m benchmarks.overhead --device cuda`.

Every variant has its own model, optimizer and data from the same seed: bf16, compiled, fused AdamW,
and no synchronisation in the loop. The variants take turns in blocks, and a block ends when the
device is done. The ratio is the wall time of a step divided by that of the plain loop in the same
round, as median and quartiles of the rounds. `plain_again` compares the plain loop with itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median, quantiles
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

import sickbay
from benchmarks.overhead.gpu_checks import (
    check_bits,
    check_growth,
    check_memory,
    check_nan,
    check_waiting,
)
from benchmarks.overhead.gpu_loops import SIZES, Loop, Report, Size, shared, watching
from sickbay.probe.gpu.memory_pass import Pass

LIMITS = {"every_1": 1.010, "default": 1.005, "all_10": 1.010}  # on GPT-2 small


class Histograms:
    """Computes a histogram of every gradient and weight, as experiment loggers do."""

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
    """Computes six statistics of every gradient one by one, as a first monitor would."""

    def __init__(self, model: nn.Module, _optimizer: Any) -> None:
        self.parameters = list(model.parameters())

    def step(self, _loss: Tensor) -> None:
        for each in self.parameters:
            if (grad := each.grad) is not None:
                whole = (grad.norm(), grad.mean(), grad.std(), grad.abs().max(), grad.min())
                for value in (*whole, grad.isfinite().all()):
                    value.item()


VARIANTS: dict[str, tuple[Callable[..., Any] | None, bool]] = {
    "plain": (None, True),
    "plain_again": (None, True),
    "every_1": (watching(every={"gradient": 1}, activations=False), True),
    "default": (watching(), False),
    "all_10": (watching(every=10), False),
    "per_parameter": (PerParameter, True),
    "histograms": (Histograms, True),
}
SLOW = ("per_parameter", "histograms")  # run for a quarter of the steps


def measure(size: Size, rounds: int, console: Console) -> Report:
    """Return the ratios of all variants for one model."""
    loops = {}
    for name, (watch, share) in VARIANTS.items():
        console.print(f"  preparing {name}")
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
    """Return the time of a pass over all gradients, and of reading them once at copy speed."""
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
    """Return the seconds of work on a device that always has more work queued."""
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


def measure_all(quick: bool, console: Console) -> Report:
    """Run all measurements and checks."""
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
    costs = Table(title=f"Cost of watching on {report['about']['device']}")
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
