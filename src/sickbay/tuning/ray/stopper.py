"""The stopper of a search, and the actor through which its trials exchange learning curves."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import ray
from ray.tune import Stopper

from sickbay.problems.trials.comparison import LearningCurve
from sickbay.tuning.shared_curves import SharedCurves

NAME = "sickbay curves"  # of the actor, within the driver's namespace
TIMEOUT = 60.0  # seconds


def start() -> Any:
    """Start the actor, or clear that of an earlier search. It lives as long as it is referenced."""
    remote_class: Any = ray.remote(num_cpus=0)(SharedCurves)
    actor = remote_class.options(name=NAME, get_if_exists=True).remote()
    actor.clear.remote()
    return actor


class CurveExchange:
    """A trial's connection to the actor. Without an actor, it knows no other trials."""

    def __init__(self, trial: str) -> None:
        self._trial = trial
        self._actor: Any = None

    def put(self, curve: LearningCurve) -> bool:
        """Send this trial's curve, without waiting. Return False if there is no actor."""
        if self._connect():
            self._actor.put.remote(self._trial, curve)
        return self._actor is not None

    def others(self) -> Sequence[LearningCurve]:
        """Return the curves of the other trials."""
        if not self._connect():
            return ()
        reply = self._actor.others.remote(self._trial)
        curves: Sequence[LearningCurve] = ray.get(reply, timeout=TIMEOUT)
        return curves

    def _connect(self) -> bool:
        with suppress(ValueError):  # there is no actor
            self._actor = self._actor or ray.get_actor(NAME)
        return self._actor is not None


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
