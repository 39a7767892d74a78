"""Measure weights, and how far a step of the optimizer moves them."""

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
    """The weights of one step before the update, and how far it moves them."""

    names: list[str] = field(default_factory=list)
    values: list[Numbers] = field(default_factory=list)
    moved: list[Numbers] = field(default_factory=list)

    def update_ratio(self) -> float:
        """Return the norm of the update relative to that of all weights, NaN if unknown."""
        if not self.moved:
            return nan
        _, distance, length = np.concatenate(self.moved).sum(0).tolist()
        return sqrt(distance / length) if length else nan

    def table(self, step: int, order: Iterable[str]) -> Table | None:
        """Return the table of the step, None if nothing was measured."""
        if not self.names:
            return None
        values = np.concatenate(self.values)
        if self.moved:
            ratios = np.concatenate(self.moved)[:, 0]
            values[: len(ratios), COLUMN["update_ratio"]] = ratios
        return Table.ordered("weight", step, dict(zip(self.names, values, strict=True)), order)


class Weights:
    """Measures the weights of a step before the update, and how far it moves them."""

    kind: Kind = "weight"

    def __init__(self, guard: Guard, meter: Meter) -> None:
        self._guard, self._meter = guard, meter
        self._step = StepWeights()
        self._held: Held | None = None
        self.due = False

    def arm(self, due: bool) -> None:
        """Prepare for a step whose weights are due, or are not."""
        self.release()
        self.due = due and "weight" not in self._guard.off

    def take(self, parameters: Mapping[str, nn.Parameter]) -> None:
        """Measure these weights just before they are updated."""
        weights = [parameter.detach() for parameter in parameters.values()]
        self._held = self._meter.hold("weight", weights)
        self._step.names += parameters
        self._step.values.append(self._held.values)

    def updated(self) -> None:
        """Measure how far the weights measured last have moved since."""
        if self._held is not None:
            self._step.moved.append(self._held.moved())
            self._held = None

    def release(self) -> StepWeights:
        """Return the weights of the step, and start over."""
        step, self._step, self._held = self._step, StepWeights(), None
        return step

    def close(self) -> None:
        self.arm(False)
