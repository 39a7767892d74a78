"""The way in: what a trainable gives is checked, and a doctor made of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ray import tune
from torch import nn
from torch.optim import Optimizer

from sickbay.arguments import check_choice, check_int
from sickbay.doctor.governor import Every
from sickbay.doctor.watch_model import Chart
from sickbay.errors import UsageError
from sickbay.problems import Problem
from sickbay.problems.profiles import choose
from sickbay.tuning.ray.courses_actor import Exchange
from sickbay.tuning.ray.doctor import RayDoctor
from sickbay.tuning.search_arguments import check_metric
from sickbay.tuning.trial_setup import admit_trial

MODES = ("max", "min")


def watch(
    model: nn.Module,
    optimizer: Optimizer | Sequence[Optimizer] | None = None,
    *,
    epochs: int,
    mode: str,
    metric: str = "val_accuracy",
    profile: str = "tuning",
    problems: Sequence[str | Problem] | None = None,
    chart: Chart = None,
    every: Every = "auto",
    budget: float = 0.01,
    activations: bool = True,
) -> RayDoctor:
    """Watch a trial of Ray Tune from inside its trainable, and end it when something is wrong.

    Give `DiagnosisStopper` to the search as well: it lets the trials know of each other.

    Args:
        model: The model, as in `sickbay.watch`.
        optimizer: Its optimizer, or several.
        epochs: How many epochs are planned.
        mode: "max" or "min": which values of the metric are better.
        metric: The name under which `epoch` is given the value that the search is about.
        profile: The list of problems that end a trial: "tuning", or as published, "bttackler".
        problems: Problems that end a trial instead: names, or objects with thresholds of your own.
        chart: A folder in which to record trials, each in a folder of its own. Tune runs a trial in
            a folder of its own too, so give the whole path.
        every: How often statistics are read, as in `sickbay.watch`.
        budget: The fraction of the loop's time that watching may take.
        activations: Whether to read the outputs of layers.

    Returns:
        The doctor. Its `epoch` reports to Tune. Once the trial has ended, `done` is true.

    Raises:
        UsageError: If something given cannot be used; nothing has been changed then.
    """
    epochs = check_int("epochs", epochs, least=1)
    check_metric(metric)
    check_choice("mode", mode, MODES)
    trial, maximize = trial_id(), mode == "max"
    admitted = admit_trial(
        model,
        optimizer,
        choose(profile, problems),
        name=trial,
        metric=metric,
        maximize=maximize,
        chart=chart,
        every=every,
        budget=budget,
        epochs=epochs,
        activations=activations,
    )
    return RayDoctor(admitted, metric, maximize, Exchange(trial))


def trial_id() -> str:
    """Return the name of the trial that this is called in, or say that it is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: str | None = tune.get_context().get_trial_id()
    if found is None:
        raise UsageError("watch must be called inside a trainable that Ray Tune runs.")
    return found
