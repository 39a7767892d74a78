"""Reading weights, and how far a step of the optimizer moves them."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan, sqrt

import numpy as np
import torch
from torch import Tensor, nn

from sickbay.readings import COLUMN, Kind, Numbers, Table
from sickbay.vitals.anatomy import Anatomy
from sickbay.vitals.guard import Guard
from sickbay.vitals.statistics import measure

SAMPLE = 65_536  # values of a weight that its update is measured on; bounds the memory of the copy


class Weights:
    """Takes the table of weights of a step: before the update, with the size of the update."""

    kind: Kind = "weight"

    def __init__(self, anatomy: Anatomy, guard: Guard) -> None:
        self._anatomy, self._guard = anatomy, guard
        self._rows: dict[str, Numbers] = {}
        self._before: dict[str, Tensor] = {}
        self._moved = self._length = 0.0
        self.due = False

    def arm(self, due: bool) -> None:
        """Be ready for the next step, or for none."""
        self._forget()
        self.due = due and "weight" not in self._guard.off

    def take(self, parameters: Mapping[str, nn.Parameter]) -> None:
        """Measure these weights as they are now, just before they are updated."""
        chosen = {name: parameter.detach() for name, parameter in parameters.items()}
        self._rows.update(zip(chosen, measure(list(chosen.values())), strict=True))
        self._before = {name: sample(weight).clone() for name, weight in chosen.items()}

    def updated(self) -> None:
        """Measure how far the weights taken last have moved since."""
        parameters = self._anatomy.parameters
        for name, before in self._before.items():
            moved = float(torch.linalg.vector_norm(sample(parameters[name].detach()) - before))
            length = float(torch.linalg.vector_norm(before))
            self._rows[name][COLUMN["update_ratio"]] = moved / length if length else nan
            self._moved += moved**2
            self._length += length**2
        self._before.clear()

    def close(self) -> None:
        self.arm(False)

    def update_ratio(self) -> float:
        """Return the norm of the whole update over the norm of all weights, NaN if unknown."""
        return sqrt(self._moved / self._length) if self._length else nan

    def collect(self, step: int) -> Table | None:
        """Return the table of the step, None if nothing was taken."""
        order = tuple(name for name in self._anatomy.parameters if name in self._rows)
        if not order:
            return None
        table = Table("weight", step, order, np.stack([self._rows[name] for name in order]))
        self._forget()
        return table

    def _forget(self) -> None:
        self._rows.clear()
        self._before.clear()
        self._moved = self._length = 0.0


def sample(weight: nn.Parameter | Tensor) -> Tensor:
    """Return up to `SAMPLE` values of a weight, evenly spread."""
    if hasattr(weight, "to_local"):
        weight = weight.to_local()
    values = weight.reshape(-1)
    return (
        values[:: max(1, -(-values.numel() // SAMPLE)) | 1] if values.numel() > SAMPLE else values
    )
