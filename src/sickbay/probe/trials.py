"""What a copy of the model shows about how its answers depend on its inputs."""

from dataclasses import dataclass
from typing import Any

from torch import nn

from sickbay.probe.cost_clock import Clock
from sickbay.probe.guard import Guard
from sickbay.probe.locate_nan import NanLocator
from sickbay.probe.mixed_samples import mixes_samples
from sickbay.probe.sight import sees_ahead
from sickbay.probe.trial import Trial

READING = 2  # at which a copy is tried, once it is known what the targets are


@dataclass
class Trials:
    """Tries a copy of the model on a batch, once and only if something calls for it.

    Attributes:
        regroups: The model computes with other rows than the samples, so it may mix them.
        places: Dimension of the inputs whose values, of the same or the next place, are the
            targets; 0 if none.
    """

    model: nn.Module
    nan_locator: NanLocator | None  # which keeps the newest batch
    guard: Guard
    clock: Clock
    regroups: bool = False
    places: int = 0
    mixed: bool = False
    looks_ahead: bool = False
    readings: int = 0

    def run(self) -> None:
        """Try a copy if it is time to."""
        self.readings += 1
        wanted = self.readings == READING and (self.regroups or self.places)
        if wanted and self.nan_locator is not None:
            with self.clock.timing("replay"):
                self.guard.run("trial", self._try, *self.nan_locator.call())

    def _try(self, args: Any, kwargs: Any) -> None:
        trial = Trial.of(self.model, args, kwargs)
        if trial is not None:
            self.mixed = self.regroups and mixes_samples(trial)
            self.looks_ahead = sees_ahead(trial, self.places or 1)
