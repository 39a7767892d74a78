"""Choose where the runs of a repair are trained."""

from functools import partial
from typing import Literal, TypeAlias

import torch

from sickbay.recipe import Recipe
from sickbay.repairs.data import Data
from sickbay.repairs.executor import WorkerExecutor
from sickbay.repairs.run_settings import RunSettings
from sickbay.repairs.user_loop import Train, UserLoopExecutor

Workers: TypeAlias = int | Literal["ray"] | None


def choose_executor(
    recipe: Recipe,
    samples: Data | None,
    settings: RunSettings,
    train: Train | None,
    workers: Workers,
) -> WorkerExecutor | UserLoopExecutor:
    """Return what trains the runs."""
    if samples is None:
        assert train is not None
        return UserLoopExecutor(train, settings)
    if workers is None:
        return WorkerExecutor(samples, settings)
    if workers == "ray":
        from sickbay.repairs.ray_worker import RayWorker, start_ray

        start_ray()
        return WorkerExecutor(samples, settings, RayWorker, size=None, remote=True)
    from sickbay.repairs.process_worker import ProcessWorker, check_picklable

    parts = {"loss": recipe.loss, "model": recipe.model, "optimizer": recipe.optimizer}
    parts |= {"scheduler": recipe.scheduler, "metric": settings.metric}
    check_picklable(**parts, data=samples, problems=settings.problems)
    threads = max(1, torch.get_num_threads() // workers)
    make_worker = partial(ProcessWorker, threads)
    return WorkerExecutor(samples, settings, make_worker, workers, remote=True)
