"""The training loops for GPUs: compiled language models in bf16 with fused AdamW."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

import sickbay

Report = dict[str, Any]
NAMES = itertools.count()


@dataclass(frozen=True)
class Size:
    """A language model, its batch size, and the steps of a block."""

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
    """A training loop. With `share` it reuses the compiled graph of other loops."""

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
        """Train some steps without synchronising. Return the last loss."""
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
        """Return the seconds per step."""
        torch.cuda.synchronize()
        start = perf_counter()
        self.run(steps)
        torch.cuda.synchronize()
        return (perf_counter() - start) / steps


def shared() -> Any:
    """Return the module with the models that loops can share."""
    return importlib.import_module("benchmarks.overhead.workloads")


def fresh() -> Any:
    """Return a new copy of the module, because torch.compile caches graphs by class."""
    path = Path(__file__).with_name("workloads.py")
    name = f"benchmarks.overhead.workloads_{next(NAMES)}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def watching(**how: Any) -> Callable[..., Any]:
    return lambda model, optimizer: sickbay.watch(model, optimizer, on_finding="silent", **how)
