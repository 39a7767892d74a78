"""The stopper for trials that report a diagnosis."""

from __future__ import annotations

from typing import Any

from ray.tune import Stopper

from sickbay.tuning.ray.curves_actor import start


class DiagnosisStopper(Stopper):
    """Stops trials that report a diagnosis, and lets all trials compare themselves.

    Combine it with another stopper: `ray.tune.stopper.CombinedStopper(DiagnosisStopper(), other)`.
    """

    def __init__(self) -> None:
        self._curves: Any = None

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:  # noqa: ARG002
        if self._curves is None:  # Ray is certain to run only now
            self._curves = start()
        return bool(result.get("sickbay_diagnosis"))

    def stop_all(self) -> bool:
        return False

    def __getstate__(self) -> dict[str, Any]:
        return {"_curves": None}  # Tune pickles the stopper to resume searches
