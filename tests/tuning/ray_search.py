"""The example with Ray, and on the same cluster a search of trials that are harder to end."""

from __future__ import annotations

import json
import math
import runpy
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ray
import torch
from ray import tune
from ray.tune.stopper import CombinedStopper, MaximumIterationStopper

from sickbay.chart import Chart
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import NonFinite, PassiveLoss
from sickbay.problems.trials.comparison import ComparedProblem, Comparison, LearningCurve
from sickbay.tuning.ray import DiagnosisStopper, watch
from sickbay.tuning.ray.stopper import start
from tests.tuning.loops import BATCHES, accuracy, learn, network

EXAMPLE = Path(__file__).parents[2] / "examples" / "tune_ray.py"


class Company(ComparedProblem):
    """There is another trial that is over."""

    advice = "none"
    benign = True

    def compare(self, history: History, beside: Comparison) -> Finding | None:
        over = [len(each.losses) for each in beside.others if each.over]
        return self.found(history, f"others: {over}") if over else None


def stubborn(config: dict[str, Any]) -> None:
    """Train without a look at whether the trial is done."""
    torch.set_num_threads(1)
    model, optimizer = network(config["rate"])
    problems = [PassiveLoss(), *([Company()] if config["compared"] else [])]
    doctor = watch(
        model, optimizer, epochs=8, mode="max", problems=problems, chart=config["folder"]
    )
    for epoch in range(100):
        for x, y in BATCHES:
            doctor.step(learn(model, optimizer, x, y))
        doctor.epoch(val_accuracy=accuracy(model), epochs_before=epoch)


def alone(config: dict[str, Any]) -> None:
    """Train where no trial knows of another; the metric is NaN after its first epoch."""
    torch.set_num_threads(1)
    model, optimizer = network(0.5)
    doctor = watch(
        model, optimizer, epochs=3, mode="max", problems=[NonFinite()], chart=config["folder"]
    )
    for epoch in doctor.epochs():
        if config["sick"] and epoch == 2:
            next(model.parameters()).data.fill_(math.nan)
        for x, y in BATCHES:
            doctor.step(learn(model, optimizer, x, y))
            doctor._background.wait()
            if doctor.done:
                return
        doctor.epoch(val_accuracy=math.nan if epoch else 0.5)


def search_alone(folder: str) -> list[dict[str, Any]]:
    """Return the last reports of a healthy and a sick trial in a search without a stopper."""
    results = tune.Tuner(
        alone,
        param_space={"sick": tune.grid_search([False, True]), "folder": folder},
        tune_config=tune.TuneConfig(reuse_actors=True, max_concurrent_trials=1),
        run_config=tune.RunConfig(storage_path=folder, verbose=0),
    ).fit()
    assert not results.errors, results.errors
    return [dict(each.metrics) for each in results]  # type: ignore[attr-defined]


def notices(folder: str) -> list[str]:
    """Return what the doctors in a folder have said about themselves."""
    charts = [Chart.open(each.parent) for each in Path(folder).glob("trial-*/trial.json")]
    return [each.text for chart in charts for each in chart.events() if each.kind == "notice"]


def search(folder: str) -> list[dict[str, Any]]:
    """Return what the last report of each trial has told."""
    kinds = [(0.5, False), (0.0, False), (0.5, True)]
    space = [{"rate": rate, "compared": one, "folder": folder} for rate, one in kinds]
    results = tune.Tuner(
        lambda config: stubborn(config["trial"]),
        param_space={"trial": tune.grid_search(space)},
        # One by one, so that the first is over when the third asks.
        tune_config=tune.TuneConfig(reuse_actors=True, max_concurrent_trials=1),
        run_config=tune.RunConfig(
            stop=CombinedStopper(DiagnosisStopper(), MaximumIterationStopper(8)),
            storage_path=folder,
            verbose=0,
        ),
    ).fit()
    assert not results.errors, results.errors
    return [dict(each.metrics) for each in results]  # type: ignore[attr-defined]


if __name__ == "__main__":
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    sys.stdout.flush()
    earlier = start()  # a search before this one, that is still held by somebody
    earlier.put.remote("old", LearningCurve([0.5] * 12, [0.5] * 12, over=True))
    with TemporaryDirectory() as folder:
        told = search(folder)
        charts = sorted(Path(folder).glob("trial-*/trial.json"))
        found = {"told": told, "charts": len(charts), "notices": notices(folder)}
    ray.kill(earlier)
    with TemporaryDirectory() as folder:
        found |= {"told_alone": search_alone(folder), "notices_alone": notices(folder)}
    print(json.dumps(found, default=str))
