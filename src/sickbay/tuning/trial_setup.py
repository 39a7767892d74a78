"""What every framework shares: a trial is admitted, quietly, with a chart of its own."""

from __future__ import annotations

from typing import Any

from torch import nn

from sickbay import arguments
from sickbay.doctor.run_log import OnFinding
from sickbay.doctor.watch_model import Admitted, Chart, admit
from sickbay.findings import Finding
from sickbay.problems import Problem
from sickbay.tuning.charted_trials import note


def check_metric(metric: object) -> None:
    """Raise `UsageError` unless `metric` can be a keyword argument of `epoch`."""
    if not isinstance(metric, str) or not metric.isidentifier():
        raise arguments.bad_argument("metric", "a keyword of epoch(), as in 'val_loss'", metric)


def pass_over(_: Finding) -> None:
    """Print nothing: the framework says that a trial was ended, and why."""


def admit_trial(
    model: nn.Module,
    optimizer: object,
    problems: tuple[Problem, ...],
    *,
    name: object,
    metric: str,
    maximize: bool,
    chart: Chart,
    on_finding: OnFinding = pass_over,
    params: dict[str, Any] | None = None,
    **options: Any,
) -> Admitted:
    """Check what was given, and return what the doctor of a trial is made of.

    Its chart is in a folder of its own in `chart`, with a note of what it was compared by.
    """
    folder = None if chart is None else arguments.check_path("chart", chart) / f"trial-{name}"
    # Trials are many and short, and are judged when an epoch is over: there is no hurry to read.
    admitted = admit(
        model, optimizer, problems, chart=folder, on_finding=on_finding, eager=False, **options
    )
    record = admitted[-1]
    if record.path is not None:
        direction = "maximize" if maximize else "minimize"
        about = {} if params is None else {"params": params}
        record.guard.run("note", note, record.path, metric, direction, **about)
    return admitted
