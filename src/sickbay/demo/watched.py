"""A sick network, watched: twelve sigmoid layers that are to tell two circles apart.

Or a healthy one with a fault put in, at a step of one's choice.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from math import pi
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from torch import Tensor, nn

from sickbay.doctor import Doctor, watch
from sickbay.doctor.governor import Every
from sickbay.errors import UsageError
from sickbay.findings import Finding
from sickbay.inject import Fault
from sickbay.problems.profiles import EVERY
from sickbay.reports import terminal

LAYERS, HEALTHY_LAYERS = 12, 4
WIDTH, BATCH = 64, 128
Batch: TypeAlias = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Result:
    """What a demo ended with."""

    accuracy: float
    findings: list[Finding]
    chart: Path | None


def circles(count: int = 1024, noise: float = 0.08, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return points on two circles around one centre, and which of the two each is on."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, count)
    angles = random.uniform(0, 2 * pi, count)
    radius = np.where(labels, 0.5, 1.0)[:, None]
    points = radius * np.stack([np.cos(angles), np.sin(angles)], 1)
    points += random.normal(0, noise, points.shape)
    return torch.from_numpy(points).float(), torch.from_numpy(labels).float()[:, None]


def network(generator: torch.Generator, healthy: bool = False) -> nn.Module:
    """Return the sick network: so many sigmoids that no gradient reaches the first layer.

    The healthy one has few layers, ReLU, and a start that keeps signals at their size.
    """
    sizes = [2, *[WIDTH] * ((HEALTHY_LAYERS if healthy else LAYERS) - 1), 1]
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        linear = nn.Linear(inputs, outputs)
        with torch.no_grad():
            limit = ((6 if healthy else 1) / inputs) ** 0.5
            linear.weight.uniform_(-limit, limit, generator=generator)
            linear.bias.zero_()
        layers += [linear, nn.ReLU() if healthy else nn.Sigmoid()]
    return nn.Sequential(*layers[:-1])


def run(
    epochs: int = 30,
    chart: str | os.PathLike[str] | None = None,
    console: Console | None = None,
    fault: Fault | None = None,
) -> Result:
    """Train the network, watched, with a progress bar; findings are printed as they come.

    With a fault it is the healthy network, with the fault put in.
    """
    torch.set_num_threads(1)  # such small matrices are multiplied fastest by one
    points, labels = circles()
    model = network(torch.Generator().manual_seed(0), healthy=fault is not None)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    batches = list(zip(torch.split(points, BATCH), torch.split(labels, BATCH), strict=True))
    injection, given = put_in(fault, model, optimizer, batches, epochs)
    every: Every = "auto" if fault is None else 1  # a fault may last no longer than a step

    def show(finding: Finding) -> None:
        terminal.show(finding, EVERY[finding.problem].advice, progress.console)

    columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("epochs"))
    with Progress(*columns, TimeElapsedColumn(), console=console or Console()) as progress:
        doctor = watch(model, optimizer, every=every, epochs=epochs, chart=chart, on_finding=show)
        with doctor, injection:
            for _ in progress.track(range(epochs), description="training"):
                train_epoch(model, optimizer, given, doctor)
                accuracy = accuracy_of(model, points, labels)
                doctor.epoch(accuracy=accuracy)
    return Result(accuracy, doctor.findings, doctor.chart)


def put_in(
    fault: Fault | None,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Sequence[Batch],
    epochs: int,
) -> tuple[AbstractContextManager[Any], Iterable[Batch]]:
    """Return the block in which the fault acts, and the batches to train on."""
    if fault is None:
        return nullcontext(), batches
    steps = epochs * len(batches)
    if min(fault.at) >= steps:
        raise UsageError(f"The fault must come before step {steps}, the end, got '{fault}'.")
    return fault.into(model, optimizer), fault.over(batches)


def train_epoch(
    model: nn.Module, optimizer: torch.optim.Optimizer, batches: Iterable[Batch], doctor: Doctor
) -> None:
    """Train for one epoch, as any loop does."""
    for points, labels in batches:
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(points), labels)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss)


def accuracy_of(model: nn.Module, points: Tensor, labels: Tensor) -> float:
    """Return the share of points that the model puts on the right circle."""
    with torch.no_grad():
        return float(((model(points) > 0) == (labels > 0)).float().mean())
