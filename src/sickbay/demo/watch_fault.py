"""A healthy network with a fault put in at a chosen step, watched."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from sickbay.console import (
    BarColumn,
    Console,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from sickbay.demo.flawed_models import circles, layers
from sickbay.doctor import watch
from sickbay.errors import UsageError
from sickbay.findings import Finding
from sickbay.inject import Fault
from sickbay.problems.by_name import EVERY
from sickbay.reports import terminal

BATCH = 128


@dataclass(frozen=True)
class Watched:
    """The results of a watched training."""

    accuracy: float
    findings: list[Finding]
    chart: Path | None


def watch_fault(
    epochs: int,
    fault: Fault,
    chart: str | os.PathLike[str] | None = None,
    console: Console | None = None,
) -> Watched:
    """Train the network with a progress bar, and print findings as they come."""
    torch.set_num_threads(1)  # fastest for such small matrices
    points, labels = circles()
    model = layers(2, 64, 64, 64, 1, gain=6**0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    batches = list(zip(torch.split(points, BATCH), torch.split(labels, BATCH), strict=True))
    steps = epochs * len(batches)
    if min(fault.at) >= steps:
        raise UsageError(f"The fault must come before step {steps}, the end, got '{fault}'.")
    injection, faulty = fault.into(model, optimizer), fault.over(batches)

    def show(finding: Finding) -> None:
        terminal.print_finding(finding, EVERY[finding.problem].advice, progress.console)

    columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("epochs"))
    with Progress(*columns, TimeElapsedColumn(), console=console or Console()) as progress:
        # At every step: a fault may last no longer than one.
        doctor = watch(model, optimizer, every=1, epochs=epochs, chart=chart, on_finding=show)
        with doctor, injection:
            for _ in progress.track(range(epochs), description="training"):
                for inputs, targets in faulty:
                    optimizer.zero_grad()
                    loss = nn.functional.binary_cross_entropy_with_logits(model(inputs), targets)
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimizer.step()
                    doctor.step(loss)
                with torch.no_grad():
                    accuracy = float(((model(points) > 0) == (labels > 0)).float().mean())
                doctor.epoch(accuracy=accuracy)
    return Watched(accuracy, doctor.findings, doctor.chart)
