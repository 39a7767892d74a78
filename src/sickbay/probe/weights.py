"""Reading weights, and how far a step of the optimizer moves them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import nan, sqrt

import numpy as np
from torch import nn

from sickbay.probe.guard import Guard
from sickbay.probe.meter import Held, Meter
from sickbay.vitals import COLUMN, Kind, Numbers, Table


@dataclass(eq=False)
class StepWeights:
    """The weights of one step, before the update, and how far that has moved them."""

    names: list[str] = field(default_factory=list)
    values: list[Numbers] = field(default_factory=list)
    moved: list[Numbers] = field(default_factory=list)

    def update_ratio(self) -> float:
        """Return the norm of the whole update over the norm of all weights, NaN if unknown."""
        if not self.moved:
            return nan
        _, away, length = np.concatenate(self.moved).sum(0).tolist()
        return sqrt(away / length) if length else nan

    def table(self, step: int, order: Iterable[str]) -> Table | None:
        """Return the table of the step, None if nothing was taken."""
        if not self.values:
            return None
        values = np.concatenate(self.values)
        if self.moved:
            ratios = np.concatenate(self.moved)[:, 0]
            values[: len(ratios), COLUMN["update_ratio"]] = ratios
        rows = dict(zip(self.names, values, strict=True))
        names = tuple(name for name in order if name in rows)
        return Table("weight", step, names, np.stack([rows[name] for name in names]))


class Weights:
    """Takes the weights of a step: before the update, and how far that moves them."""

    kind: Kind = "weight"

    def __init__(self, guard: Guard, meter: Meter) -> None:
        self._guard, self._meter = guard, meter
        self._taken = StepWeights()
        self._held: Held | None = None
        self.due = False

    def arm(self, due: bool) -> None:
        """Be ready for the next step, or for none."""
        self.release()
        self.due = due and "weight" not in self._guard.off

    def take(self, parameters: Mapping[str, nn.Parameter]) -> None:
        """Measure these weights as they are now, just before they are updated."""
        weights = [parameter.detach() for parameter in parameters.values()]
        self._held = self._meter.hold("weight", weights)
        self._taken.names += parameters
        self._taken.values.append(self._held.values)

    def updated(self) -> None:
        """Measure how far the weights taken last have moved since."""
        if self._held is not None:
            self._taken.moved.append(self._held.moved())
            self._held = None

    def release(self) -> StepWeights:
        """Return what was taken, and begin anew."""
        taken, self._taken, self._held = self._taken, StepWeights(), None
        return taken

    def close(self) -> None:
        self.arm(False)
