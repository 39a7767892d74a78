"""How trials on Ray know of each other: through an actor that every one of them can ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ray

from sickbay.problems.compared import LearningCurve
from sickbay.tuning.shared_courses import SharedCurves

NAME = "sickbay courses"  # of the actor; names are a driver's own unless it says otherwise
PATIENCE = 60.0  # seconds that an answer is waited for


def start() -> Any:
    """Start the actor, or empty that of an earlier search; it lives as long as it is held."""
    made: Any = ray.remote(num_cpus=0)(SharedCurves)
    actor = made.options(name=NAME, get_if_exists=True).remote()
    actor.clear.remote()
    return actor


class Exchange:
    """A trial's line to the actor. Where there is none it knows of no others."""

    def __init__(self, trial: str) -> None:
        self._trial = trial
        self._actor: Any = None

    @property
    def is_open(self) -> bool:
        """Whether there is an actor."""
        if self._actor is None:
            try:
                self._actor = ray.get_actor(NAME)
            except ValueError:
                return False
        return True

    def put(self, course: LearningCurve) -> bool:
        """Tell the others how this trial has gone, without waiting; False if there is no actor."""
        there = self.is_open
        if there:
            self._actor.put.remote(self._trial, course)
        return there

    def others(self) -> Sequence[LearningCurve]:
        """Ask how the others have gone."""
        if not self.is_open:
            return ()
        asked: Sequence[LearningCurve] = ray.get(
            self._actor.others.remote(self._trial), timeout=PATIENCE
        )
        return asked
