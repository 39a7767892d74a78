"""The healthy runs, many of them of a kind that frightens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.detection.case import Watch
from benchmarks.detection.variant import SGD, Variant, plan, well

SMOOTH = ("leaky", "elu", "selu", "gelu", "silu", "tanh", "softplus", "prelu", "hardswish", "mish")

HEALTHY: list[Variant] = [
    *(well(plan(data, activation=each)) for data in ("digits", "circles") for each in SMOOTH),
    *(well(plan(data, **SGD)) for data in ("digits", "blobs", "friedman", "sine", "labels")),
    well(plan("digits", "cnn", 3, 8)),
    well(plan("waves", "gru", 1, 24, lr=0.01)),
    well(plan("shakespeare", "transformer", 2, 32)),
    well(plan("mnist", "cnn", 3, 8, **SGD)),
]
RUNS: list[tuple[str, str, Callable[[int, Path | None, Watch], float]]] = []
