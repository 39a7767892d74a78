"""`sickbay.watch`: put a doctor into a training loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import nn
from torch.optim import Optimizer

from sickbay.doctor.causes import Causes
from sickbay.doctor.doctor import Doctor
from sickbay.doctor.governor import Every
from sickbay.doctor.run_log import OnFinding
from sickbay.doctor.watch_arguments import Chart, prepare_watched
from sickbay.problems import Problem
from sickbay.problems.profiles import REPORTS, choose

if TYPE_CHECKING:
    from sickbay.remedies import Remedy


def watch(
    model: nn.Module,
    optimizer: Optimizer | Sequence[Optimizer] | None = None,
    *,
    every: Every = "auto",
    budget: float = 0.01,
    profile: str = "default",
    problems: Sequence[str | Problem] | None = None,
    remedies: Sequence[str | Remedy] | None = None,
    epochs: int | None = None,
    chart: Chart = None,
    on_finding: OnFinding = "advise",
    activations: bool = True,
    report_every: int | None = None,
) -> Doctor:
    """Watch a model train.

    Args:
        model: The model, before or after `torch.compile` (before, to read its activations).
        optimizer: Its optimizer, or several. Without one, gradients are read as backward left them.
        every: How often to read statistics: "auto" (as often as `budget` allows), a number of
            steps, a number of steps for each kind, as in `{"gradient": 1}` (other kinds are never
            read), or a function that takes the number of a step and returns whether to read it.
        budget: With "auto", the fraction of the loop's time that watching may take.
        profile: The problems to look for: "default", or a published list: "autotrainer",
            "bttackler", "bttackler_paper", "training_doctor".
        problems: The problems to look for instead: names, objects with your own thresholds, or
            names of profiles, as in `["default", MyProblem()]`.
        remedies: The remedies to advise, and to use with `on_finding="treat"`, instead of those
            shipped with sickbay: names, or objects of your own.
        epochs: How many epochs are planned, if known.
        chart: A folder to record the run in. It is created; if it holds a run already, the new one
            goes beside it (`NAME-2`).
        on_finding: "advise" (print it), "silent", "stop" (raise `Diagnosed` at the next `step`),
            "treat" (print it and apply remedies that are safe in a running loop: the only choice
            that changes your training), or a function to call with each finding.
        activations: Whether to read the outputs of layers.
        report_every: Report how the run is doing after every so many validations (calls of `epoch`
            with a `val_loss`), 0 for never. By default 3 with the profile "training_doctor", as
            published, and never with others.

    Returns:
        The doctor. Call its `step` in the loop.

    Raises:
        UsageError: If an argument cannot be used. Nothing has been changed then.
    """
    watched = prepare_watched(
        model,
        optimizer,
        choose(profile, problems),
        every=every,
        budget=budget,
        epochs=epochs,
        chart=chart,
        on_finding=on_finding,
        activations=activations,
        remedies=remedies,
        report_every=REPORTS.get(profile, 0) if report_every is None else report_every,
    )
    return Doctor(watched, Causes(watched.problems, watched.log.guard))
