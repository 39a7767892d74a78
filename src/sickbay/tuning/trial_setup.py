"""Check the arguments that the `watch` functions of all frameworks share."""

from __future__ import annotations

from typing import Any

from torch import nn

from sickbay import arguments
from sickbay.doctor.run_log import OnFinding
from sickbay.doctor.watch_arguments import Chart, Watched, check_watched
from sickbay.findings import Finding
from sickbay.problems import Problem
from sickbay.tuning.charted_trials import note


def check_metric(metric: object) -> None:
    """Raise `UsageError` unless `metric` can be a keyword argument of `epoch`."""
    if not isinstance(metric, str) or not metric.isidentifier():
        raise arguments.bad_argument("metric", "a keyword of epoch(), as in 'val_loss'", metric)


def print_nothing(_: Finding) -> None:
    """Leave it to the framework to say that a trial was ended, and why."""


def check_trial_watched(
    model: nn.Module,
    optimizer: object,
    problems: tuple[Problem, ...],
    *,
    name: object,
    metric: str,
    maximize: bool,
    chart: Chart,
    on_finding: OnFinding = print_nothing,
    params: dict[str, Any] | None = None,
    **options: Any,
) -> Watched:
    """Return a trial to watch, or raise `UsageError`.

    Its chart goes into a folder of its own inside `chart`, with a note of the metric.
    """
    folder = None if chart is None else arguments.check_path("chart", chart) / f"trial-{name}"
    # Trials are many and short, and are judged at the end of epochs: there is no hurry to read.
    watched = check_watched(
        model, optimizer, problems, chart=folder, on_finding=on_finding, eager=False, **options
    )
    if (path := watched.log.path) is not None:
        direction = "maximize" if maximize else "minimize"
        about = {} if params is None else {"params": params}
        watched.log.guard.run("note", note, path, metric, direction, **about)
    return watched
