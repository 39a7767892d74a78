"""Runs on a Ray cluster, for those who outgrow one machine."""

import logging
import os
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from importlib import import_module
from typing import Any

from sickbay.errors import UsageError
from sickbay.printable import error_message
from sickbay.repairs.executor import RemoteLoop
from sickbay.repairs.run import Progress, Update
from sickbay.repairs.training_loop import TrainingLoop


class RayWorker:
    """A training loop in an actor. If the actor is lost, its run has failed."""

    def __init__(self, make_loop: Callable[[], TrainingLoop]) -> None:
        self._ray = start_ray()
        self._actor: Any = self._ray.remote(num_cpus=0.5)(RemoteLoop).remote(make_loop)

    def submit(self, stop_at_findings: bool) -> Future[Any]:
        future: Future[Any] = self._actor.train_epoch.remote(stop_at_findings).future()
        return future

    def result(self, future: Future[Any], before: Progress) -> Update:
        try:
            update: Update = future.result()
        except self._ray.exceptions.RayActorError as error:
            failed = f"its worker on the Ray cluster ended: {error_message(error)}"
            return Update(replace(before, failed=failed), over=True)
        return update

    def close(self) -> None:
        self._ray.kill(self._actor)


def start_ray() -> Any:
    """Return Ray, connected to a cluster or with one started here."""
    try:
        ray: Any = import_module("ray")
    except ImportError:
        raise UsageError(
            "workers='ray' needs the package ray: pip install 'sickbay[ray]'."
        ) from None
    if not ray.is_initialized():
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    return ray
