"""Attempts on a Ray cluster."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from importlib import import_module
from typing import Any

from sickbay.errors import UsageError
from sickbay.printable import error_message
from sickbay.repairs.crew import Crew
from sickbay.repairs.report import Report
from sickbay.repairs.trainee import Here, Job, Tick, Trainee, Weights


class Remote(Trainee):
    """An attempt in an actor of Ray; it is asked epoch by epoch, so that each can be told of.

    Its weights are fetched whenever it rests. If the actor is lost, the attempt has failed, and
    what it had the last time is what is left.
    """

    def __init__(self, ray: Any, job: Job, tick: Tick) -> None:
        self._ray, self._tick = ray, tick
        own = job.recipe.model.state_dict()
        self._weights, self._last = (own, own), Report()
        self._asked: list[Any] = []
        self._actor: Any = ray.remote(num_cpus=0.5)(Here).remote(job, _nothing)

    def advance(self, epochs: int, heed: bool = True) -> None:
        for _ in range(epochs):
            self._actor.advance.remote(1, heed)
            self._asked.append(self._actor.report.remote())

    def report(self) -> Report:
        if self._asked and not self._last.failed:
            try:
                self._last, self._weights = self._fetch()
            except self._ray.exceptions.RayActorError as error:
                failed = f"its worker on the Ray cluster ended: {error_message(error)}"
                self._last = replace(self._last, failed=failed)
        self._asked.clear()
        return self._last

    def weights(self) -> tuple[Weights, Weights]:
        return self._weights

    def close(self) -> None:
        self._ray.kill(self._actor)

    def _fetch(self) -> tuple[Report, tuple[Weights, Weights]]:
        epochs, report = self._last.epochs, self._last
        for asked in self._asked:
            report = self._ray.get(asked)
            if report.epochs > epochs:
                epochs = report.epochs
                self._tick(report)
        return report, self._ray.get(self._actor.weights.remote())


def _nothing(_report: Report) -> None:
    """Do nothing, in a way that can be sent to another process."""


class Cluster(Crew):
    """Trains attempts on a Ray cluster, all at a time."""

    def __init__(self) -> None:
        self._ray = start_ray()

    def start(self, job: Job, tick: Tick) -> Trainee:
        return Remote(self._ray, job, tick)


def start_ray() -> Any:
    """Return Ray, connected to a cluster, or with one started here; say so if it is missing."""
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
