"""A sick network, watched: twelve sigmoid layers that are to tell two circles apart."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from math import pi
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from torch import Tensor, nn

from sickbay.doctor import Doctor, watch
from sickbay.findings import Finding
from sickbay.problems.profiles import EVERY
from sickbay.reports import terminal

LAYERS, WIDTH, BATCH = 12, 64, 128


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


def network(generator: torch.Generator) -> nn.Module:
    """Return the sick network: so many sigmoids that no gradient reaches the first layer."""
    sizes = [2, *[WIDTH] * (LAYERS - 1), 1]
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        linear = nn.Linear(inputs, outputs)
        with torch.no_grad():
            linear.weight.uniform_(-(inputs**-0.5), inputs**-0.5, generator=generator)
            linear.bias.zero_()
        layers += [linear, nn.Sigmoid()]
    return nn.Sequential(*layers[:-1])


def run(
    epochs: int = 30, chart: str | os.PathLike[str] | None = None, console: Console | None = None
) -> Result:
    """Train the network, watched, with a progress bar; findings are printed as they come."""
    torch.set_num_threads(1)  # such small matrices are multiplied fastest by one
    console = console or Console()
    points, labels = circles()
    model = network(torch.Generator().manual_seed(0))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def show(finding: Finding) -> None:
        terminal.show(finding, EVERY[finding.problem].advice, progress.console)

    columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("epochs"))
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        bar = progress.add_task("training", total=epochs)
        with watch(model, optimizer, epochs=epochs, chart=chart, on_finding=show) as doctor:
            for _ in range(epochs):
                accuracy = train_epoch(model, optimizer, points, labels, doctor)
                progress.advance(bar)
    return Result(accuracy, doctor.findings, doctor.chart)


def train_epoch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    points: Tensor,
    labels: Tensor,
    doctor: Doctor,
) -> float:
    """Train for one epoch, as any loop does; return the accuracy at its end."""
    for start in range(0, len(points), BATCH):
        batch = slice(start, start + BATCH)
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(points[batch]), labels[batch])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss)
    with torch.no_grad():
        accuracy = float(((model(points) > 0) == (labels > 0)).float().mean())
    doctor.epoch(accuracy=accuracy)
    return accuracy
