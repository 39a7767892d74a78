"""Faults of the training loop and sudden faults during a run."""

from dataclasses import dataclass

import torch
from torch import Tensor

from benchmarks.detection.fault_code import (
    BadBatch,
    Held,
    Jump,
    Layer,
    Noisy,
    Weights,
    detached,
    without_gradient,
    zeroed_output,
)
from benchmarks.detection.run_variants import PLAIN, SGD, Settings, Variant, faulty, plan


@dataclass(frozen=True)
class Broken:
    """Adds a term without a finite value or gradient to the loss from one step on."""

    how: str
    at: int = 0

    def __call__(self, step: int, loss: Tensor, out: Tensor, _target: Tensor) -> Tensor:
        if step < self.at:
            return loss
        return loss + self.term(out, out.mean() * 0)

    def term(self, out: Tensor, zero: Tensor) -> Tensor:
        if self.how == "log":
            return torch.log(zero) * 0.01
        if self.how == "division":
            return out.mean() / zero * 0.01
        if self.how == "root":
            return torch.sqrt(zero)
        return torch.exp(zero + 100) * 0.001

    @property
    def label(self) -> str:
        return f"{self.how}-at{self.at}"


NON_FINITE = [
    faulty(plan(data, kind, depth, width, **more), loss=Broken(how, at), first=at)
    for data, kind, depth, width, how, at, more in (
        ("circles", "fc", 3, 32, "log", 0, {}),
        ("blobs", "fc", 3, 32, "division", 60, PLAIN),
        ("digits", "fc", 3, 32, "root", 100, {}),
        ("digits", "cnn", 3, 8, "overflow", 120, {}),
        ("friedman", "fc", 3, 32, "log", 80, PLAIN),
        ("waves", "gru", 1, 16, "division", 0, {"lr": 0.01}),
        ("mnist", "fc", 4, 32, "root", 40, SGD),
        ("shakespeare", "transformer", 2, 32, "overflow", 30, {}),
    )
]
SPIKES = [
    faulty(plan("blobs", depth=3, **SGD), rate=Jump(120, 300.0), first=120),
    faulty(plan("digits", depth=3), rate=Jump(130, 300.0), first=130),
    faulty(plan("digits", depth=4, **SGD), rate=Jump(120, 100.0), first=120),
    faulty(plan("friedman", depth=3), rate=Jump(120, 300.0), first=120),
    faulty(plan("digits", "cnn", 3, 8, **SGD), batch=BadBatch(150, 100.0, 15), first=150),
    faulty(plan("digits", depth=3, **SGD), batch=BadBatch(140, 1e3, 20), first=140),
    faulty(plan("mnist", depth=3, activation="gelu"), rate=Jump(120, 300.0), first=120),
    faulty(plan("shakespeare", "transformer", 2, 32), rate=Jump(120, 100.0), first=120),
]
LONG: Settings = {"steps": 400, "width": 128, "tell": frozenset({"epochs"})}
OVERFITTING = [
    faulty(
        plan(data, kind, depth, **LONG, **more), f"few{part}", part=part, samples=Noisy(), size=20
    )
    for data, kind, depth, part, more in (
        ("digits", "fc", 2, 60, {}),
        ("digits", "fc", 3, 40, {"activation": "tanh"}),
        ("circles", "fc", 3, 40, {"lr": 0.01}),
        ("blobs", "fc", 3, 40, {"activation": "gelu"}),
        ("friedman", "fc", 2, 40, {}),
        ("sine", "fc", 3, 24, {"lr": 0.01}),
        ("mnist", "fc", 2, 60, {}),
        ("imdb_bag", "fc", 1, 80, {}),
        ("reuters_bag", "fc", 1, 80, {}),
        ("digits", "fc", 4, 50, {"activation": "gelu"}),
        ("digits", "fc", 2, 100, {"activation": "silu"}),
        ("mnist", "fc", 3, 80, {"activation": "tanh"}),
        ("cifar10", "fc", 2, 100, {}),
        ("friedman", "fc", 3, 60, {"activation": "tanh"}),
        ("blobs", "fc", 2, 60, {"lr": 0.01}),
        ("circles", "fc", 4, 60, {}),
        ("imdb_bag", "fc", 2, 120, {}),
        ("reuters_bag", "fc", 2, 120, {"activation": "elu"}),
    )
]
UNCHANGED = [
    faulty(plan("digits", depth=4, init="right"), surgery=Layer("early", without_gradient)),
    faulty(plan("circles", depth=3, **SGD), surgery=Layer("hidden", without_gradient)),
    faulty(plan("blobs", depth=4, width=8), groups=Held("hidden", 0.0)),
    faulty(plan("friedman", depth=3), groups=Held("hidden", 0.0)),
    faulty(plan("sine", depth=3, activation="tanh"), surgery=Layer("hidden", without_gradient)),
    faulty(plan("digits", "cnn", 4, 8), surgery=Layer("early", without_gradient)),
    faulty(plan("mnist", depth=6, width=16, init="right"), groups=Held("early", 0.0)),
    faulty(plan("blobs", depth=5, width=8), surgery=Layer("middle", zeroed_output)),
]
FROZEN = [
    faulty(plan("digits", depth=6, width=16, init="right"), groups=Held("early")),
    faulty(plan("circles", depth=5), groups=Held("early")),
    faulty(plan("sine", depth=3), surgery=Layer("middle", detached)),
    faulty(plan("friedman", depth=4), surgery=Layer("middle", detached)),
    faulty(plan("digits", "cnn", 4, 8), groups=Held("early")),
    faulty(plan("mnist", depth=6, width=16, init="right"), surgery=Layer("middle", detached)),
    faulty(plan("digits", "cnn", 3, 8), surgery=Layer("middle", detached)),
]
FORGOTTEN = [
    faulty(plan(data, kind, depth, width, **more), keep_gradients=True)
    for data, kind, depth, width, more in (
        ("circles", "fc", 3, 32, SGD),
        ("blobs", "fc", 3, 32, SGD),
        ("digits", "fc", 3, 32, SGD),
        ("digits", "fc", 4, 32, {"lr": 0.01}),
        ("friedman", "fc", 3, 32, {}),
        ("digits", "cnn", 3, 8, SGD),
        ("mnist", "fc", 3, 32, PLAIN),
        ("waves", "gru", 1, 16, {"lr": 0.01}),
    )
]
WRONG_MODE = [
    faulty(plan(data, kind, depth, width, **more), "eval", mode=False)
    for data, kind, depth, width, more in (
        ("digits", "cnn", 6, 8, {"norm": "batch", **SGD}),
        ("digits", "cnn", 8, 8, {"norm": "batch", **SGD, "dropout": 0.05}),
        ("blobs", "fc", 12, 32, {"norm": "batch", **SGD}),
        ("mnist", "fc", 10, 32, {"norm": "batch"}),
        ("friedman", "fc", 8, 32, {"norm": "batch", **SGD}),
        ("digits", "fc", 12, 32, {"norm": "batch", "dropout": 0.05}),
        ("circles", "fc", 16, 16, {"norm": "batch", **SGD}),
        ("mnist", "cnn", 6, 8, {"norm": "batch", **SGD}),
    )
]
UNEVEN = [
    faulty(plan("digits", depth=4, init="right", **PLAIN), groups=Held("middle", 1e4)),
    faulty(plan("blobs", depth=3, **PLAIN), surgery=Layer("middle", Weights(1e4))),
    faulty(plan("friedman", depth=3, **SGD), groups=Held("middle", 1e4)),
    faulty(plan("friedman", depth=4), groups=Held("first", 1e4)),
    faulty(plan("digits", depth=3, **SGD), surgery=Layer("middle", Weights(1e-4))),
    faulty(plan("mnist", depth=4), groups=Held("second", 1e4)),
    faulty(plan("digits", "cnn", 4, 8), groups=Held("middle", 1e4)),
]
LOOP: dict[str, list[Variant]] = {
    "non_finite": NON_FINITE,
    "loss_spike": SPIKES,
    "overfitting": OVERFITTING,
    "unchanged_weights": UNCHANGED,
    "frozen_by_accident": FROZEN,
    "missing_zero_grad": FORGOTTEN,
    "wrong_mode": WRONG_MODE,
    "layer_imbalance": UNEVEN,
}
