"""A stopper for trials that a diagnosis stands against."""

from __future__ import annotations

from typing import Any

from ray.tune import Stopper

from sickbay.tuning.ray.courses_actor import start


class DiagnosisStopper(Stopper):
    """Stops the trials that report a diagnosis, and lets all trials know of each other.

    With another one: `ray.tune.stopper.CombinedStopper(DiagnosisStopper(), other)`.
    """

    def __init__(self) -> None:
        self._courses: Any = None

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:  # noqa: ARG002
        if self._courses is None:  # only now Ray is sure to run
            self._courses = start()
        return bool(result.get("sickbay_diagnosis"))

    def stop_all(self) -> bool:
        return False

    def __getstate__(self) -> dict[str, Any]:
        return {"_courses": None}  # Tune keeps a copy on disk, for a search that is resumed
