"""Who trains the attempts: this process, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from sickbay.repairs.report import Report
from sickbay.repairs.trainee import Here, Job, Tick, Trainee


class Crew:
    """Starts attempts, and trains some of them on."""

    runners = 4  # candidates that may run beside each other

    def start(self, job: Job, tick: Tick) -> Trainee:
        """Start one attempt."""
        return Here(job, tick)

    def advance(self, trainees: Sequence[Trainee], epochs: int) -> list[Report]:
        """Train several on, side by side where that is possible."""
        for each in trainees:
            each.advance(epochs)
        return [each.report() for each in trainees]
