"""`watch` for Ray Tune: checks its arguments and makes the doctor of a trial."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ray import tune
from torch import nn
from torch.optim import Optimizer

from sickbay.arguments import check_choice, check_int
from sickbay.doctor.governor import Every
from sickbay.doctor.watch_arguments import Chart
from sickbay.errors import UsageError
from sickbay.problems import Problem
from sickbay.problems.profiles import choose
from sickbay.tuning.ray.curves_actor import CurveExchange
from sickbay.tuning.ray.doctor import RayDoctor
from sickbay.tuning.trial_doctor import check_metric, check_trial_watched

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
    """Watch a trial of Ray Tune from inside its trainable, and end it if something is wrong.

    Pass `DiagnosisStopper` to the search as well, so that trials can be compared with each other.

    Args:
        model: The model, as in `sickbay.watch`.
        optimizer: Its optimizer, or several.
        epochs: The number of epochs planned.
        mode: "max" or "min": which values of the metric are better.
        metric: The metric of the search, as it is passed to `epoch`.
        profile: The problems that end a trial: "tuning", or "bttackler" for those of that paper.
        problems: Your own list instead: names, or problems with your own thresholds.
        chart: A folder to record trials in, each in its own subfolder. Use an absolute path,
            because Tune changes the working directory of each trial.
        every: How often to read statistics, as in `sickbay.watch`.
        budget: The fraction of the loop's time that watching may take.
        activations: Whether to read the outputs of layers.

    Returns:
        The doctor. Its `epoch` reports to Tune. Once the trial has ended, `done` is true.

    Raises:
        UsageError: If an argument is wrong. Nothing has been changed then.
    """
    epochs = check_int("epochs", epochs, least=1)
    check_metric(metric)
    check_choice("mode", mode, MODES)
    trial, maximize = trial_id(), mode == "max"
    watched = check_trial_watched(
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
    return RayDoctor(watched, metric, maximize, CurveExchange(trial))


def trial_id() -> str:
    """Return the id of the current trial. Raise `UsageError` outside of one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: str | None = tune.get_context().get_trial_id()
    if found is None:
        raise UsageError("watch must be called inside a trainable that Ray Tune runs.")
    return found
