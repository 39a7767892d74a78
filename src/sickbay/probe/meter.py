"""Who measures: at once on the CPU, or later on a GPU, which must never be waited for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from sickbay.probe.merge_statistics import scaled
from sickbay.probe.statistics import measure
from sickbay.vitals import Numbers

SAMPLE = 65_536  # values of a tensor that its way is measured on; bounds the memory of the copy


class Meter:
    """Measures at once.

    One that is `late` fills what it returns only when its ticket has arrived.
    """

    late = False

    def __init__(self, on_device: bool = False) -> None:
        self._on_device = on_device

    @property
    def full(self) -> bool:
        """Whether the device is so far behind that nothing more should be asked for."""
        return False

    @property
    def blocked(self) -> bool:
        """Whether a CUDA graph is being captured, which reading would break."""
        return self._on_device and torch.cuda.is_current_stream_capturing()

    def measure(
        self,
        what: str,  # noqa: ARG002 - for those that prepare for what comes again
        tensors: Sequence[Tensor],
        scale: Tensor | float = 1.0,
    ) -> Numbers:
        """Return a row of statistics for each tensor; `what` says which these are."""
        return scaled(measure(tensors), float(scale))

    def numbers(self, values: Tensor) -> Numbers:
        """Return the numbers in a tensor, in a row."""
        row: Numbers = values.detach().reshape(-1).double().cpu().numpy()
        return row

    def copy(self, tensor: Tensor) -> Tensor:
        """Return a tensor as one of the CPU."""
        return tensor.cpu()

    def hold(self, what: str, tensors: Sequence[Tensor]) -> Held:
        """Measure tensors, and remember enough of them to tell how far they move."""
        return Kept(tensors, self.measure(what, tensors))


class Held(Protocol):
    """Tensors that were measured before they are changed."""

    values: Numbers  # their statistics

    def moved(self) -> Numbers:
        """Return for each how far it has moved since: over its length, and both squared."""


class Kept(Held):
    """Tensors of which copies are kept."""

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
    """Return the one for a model with these parameters: late if all are on GPUs."""
    devices = {each.device for each in tensors}
    on_device = any(device.type == "cuda" for device in devices)
    if on_device and all(device.type == "cuda" for device in devices):
        with suppress(Exception):  # no Triton, or one that cannot compile for this device
            from sickbay.probe.gpu.late_meter import LateMeter

            for device in devices:
                LateMeter().measure("trial", [torch.zeros(1, device=device)])
            return LateMeter()
    return Meter(on_device)
