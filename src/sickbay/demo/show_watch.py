"""A healthy network with a fault put in, at a step of one's choice, watched."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from sickbay.console import (
    BarColumn,
    Console,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from sickbay.demo.circles import circles
from sickbay.demo.sick_models import layers
from sickbay.doctor import Doctor, watch
from sickbay.errors import UsageError
from sickbay.findings import Finding
from sickbay.inject import Fault
from sickbay.problems.by_name import EVERY
from sickbay.reports import terminal

BATCH = 128
Batch: TypeAlias = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Result:
    """What a demo ended with."""

    accuracy: float
    findings: list[Finding]
    chart: Path | None


def run(
    epochs: int,
    fault: Fault,
    chart: str | os.PathLike[str] | None = None,
    console: Console | None = None,
) -> Result:
    """Train the network, watched, with a progress bar; findings are printed as they come."""
    torch.set_num_threads(1)  # such small matrices are multiplied fastest by one
    points, labels = circles()
    model = layers(2, 64, 64, 64, 1, gain=6**0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    batches = list(zip(torch.split(points, BATCH), torch.split(labels, BATCH), strict=True))
    injection, given = put_in(fault, model, optimizer, batches, epochs)

    def show(finding: Finding) -> None:
        terminal.print_finding(finding, EVERY[finding.problem].advice, progress.console)

    columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("epochs"))
    with Progress(*columns, TimeElapsedColumn(), console=console or Console()) as progress:
        # At every step: a fault may last no longer than one.
        doctor = watch(model, optimizer, every=1, epochs=epochs, chart=chart, on_finding=show)
        with doctor, injection:
            for _ in progress.track(range(epochs), description="training"):
                train_epoch(model, optimizer, given, doctor)
                accuracy = accuracy_of(model, points, labels)
                doctor.epoch(accuracy=accuracy)
    return Result(accuracy, doctor.findings, doctor.chart)


def put_in(
    fault: Fault,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Sequence[Batch],
    epochs: int,
) -> tuple[AbstractContextManager[Any], Iterable[Batch]]:
    """Return the block in which the fault acts, and the batches to train on."""
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
