"""Measure tensors: at once on the CPU, or later on a GPU, without waiting for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from torch import Tensor

from sickbay.probe.statistics import measure, scaled
from sickbay.vitals import Numbers

if TYPE_CHECKING:
    from sickbay.probe.gpu.late_meter import Ticket

SAMPLE = 65_536  # values of a tensor that are copied to measure how far it moves


class Meter:
    """Measures at once.

    A `late` meter returns arrays that are filled only when its ticket has arrived.
    """

    late = False

    def __init__(self, on_device: bool = False) -> None:
        self._on_device = on_device

    @property
    def full(self) -> bool:
        """Whether the device is so far behind that nothing more should be measured."""
        return False

    @property
    def blocked(self) -> bool:
        """Whether a CUDA graph is being captured, which reading would break."""
        return self._on_device and torch.cuda.is_current_stream_capturing()

    def measure(
        self,
        what: str,  # noqa: ARG002 - for a late meter, which reuses its buffers
        tensors: Sequence[Tensor],
        scale: Tensor | float = 1.0,
    ) -> Numbers:
        """Return a row of statistics for each tensor; `what` names these tensors."""
        return scaled(measure(tensors), float(scale))

    def numbers(self, values: Tensor) -> Numbers:
        """Return the numbers in a tensor as one row."""
        row: Numbers = values.detach().reshape(-1).double().cpu().numpy()
        return row

    def copy(self, tensor: Tensor) -> Tensor:
        """Return a tensor on the CPU."""
        return tensor.cpu()

    def ticket(self) -> Ticket | None:
        """Return what tells when everything measured so far has arrived, None if it has."""
        return None

    def hold(self, what: str, tensors: Sequence[Tensor]) -> Held:
        """Measure tensors, and remember enough of them to measure how far they move."""
        return Kept(tensors, self.measure(what, tensors))


class Held(Protocol):
    """Tensors that were measured before a change."""

    values: Numbers  # their statistics

    def moved(self) -> Numbers:
        """Return three columns: distance / norm, distance², norm²."""


class Kept(Held):
    """Tensors with copies of their values before a change."""

    def __init__(self, tensors: Sequence[Tensor], values: Numbers) -> None:
        self._tensors, self.values = tensors, values
        self._before = [sample(each).clone() for each in tensors]

    def moved(self) -> Numbers:
        rows = np.empty((len(self._tensors), 3))
        for row, tensor, before in zip(rows, self._tensors, self._before, strict=True):
            away = float(torch.linalg.vector_norm(sample(tensor) - before))
            length = float(torch.linalg.vector_norm(before))
            row[:] = away / length if length else np.nan, away**2, length**2
        return rows


def sample(tensor: Tensor) -> Tensor:
    """Return up to `SAMPLE` values of a tensor, evenly spread."""
    if hasattr(tensor, "to_local"):
        tensor = tensor.to_local()
    values = tensor.reshape(-1)
    count = values.numel()
    return values if count <= SAMPLE else values[:: -(-count // SAMPLE) | 1]


def choose_meter(tensors: Iterable[Tensor]) -> Meter:
    """Return the meter for a model with these parameters: late if all are on GPUs."""
    devices = {each.device for each in tensors}
    on_device = any(device.type == "cuda" for device in devices)
    if on_device and all(device.type == "cuda" for device in devices):
        with suppress(Exception):  # no Triton, or one that cannot compile for this device
            from sickbay.probe.gpu.late_meter import LateMeter

            for device in devices:
                LateMeter().measure("trial", [torch.zeros(1, device=device)])
            return LateMeter()
    return Meter(on_device)
