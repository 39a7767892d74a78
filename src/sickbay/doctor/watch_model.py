"""The way in: what is given is checked, and a doctor made of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeAlias

from torch import nn
from torch.optim import Optimizer

from sickbay.arguments import check_bool
from sickbay.doctor.doctor import Doctor
from sickbay.doctor.governor import Every, Governor
from sickbay.doctor.run_log import OnFinding, RunLog
from sickbay.doctor.watch_arguments import (
    check_epochs,
    check_on_finding,
    check_optimizers,
)
from sickbay.history import History
from sickbay.model_arguments import check_model
from sickbay.problems import Problem
from sickbay.problems.profiles import choose
from sickbay.vitals import Kind, Setup

Chart: TypeAlias = str | os.PathLike[str] | None
# What a doctor is made of: model, optimizers, governor, problems, history and record.
Admitted: TypeAlias = tuple[
    nn.Module, list[Optimizer], Governor, tuple[Problem, ...], History, RunLog
]


def watch(
    model: nn.Module,
    optimizer: Optimizer | Sequence[Optimizer] | None = None,
    *,
    every: Every = "auto",
    budget: float = 0.01,
    profile: str = "default",
    problems: Sequence[str | Problem] | None = None,
    epochs: int | None = None,
    chart: Chart = None,
    on_finding: OnFinding = "advise",
    activations: bool = True,
) -> Doctor:
    """Watch a model train.

    Args:
        model: The model, before or after `torch.compile` (before, if activations are to be read).
        optimizer: Its optimizer, or several; without one, gradients are read as backward left them.
        every: How often statistics are read: "auto" (as often as `budget` pays for), a number of
            steps, or such a number for each kind, as in `{"gradient": 1}`; a kind not named there
            is never read. Or a function that is given the number of a step and says whether to.
        budget: With "auto": the fraction of the loop's time that watching may take.
        profile: The list of problems to look for: "default", or as published: "autotrainer",
            "bttackler", "training_doctor".
        problems: Problems to look for instead: names, or objects with thresholds of your own.
        epochs: How many epochs are planned, if known.
        chart: A folder to record the run in; it is made. If it holds a run already, the new one
            goes beside it (`NAME-2`).
        on_finding: "advise" (print it), "silent", "stop" (raise `Diagnosed` at the next `step`),
            "treat" (print it and do about it what a running loop can take: the only choice that
            changes anything), or a function that is called with each finding.
        activations: Whether to read the outputs of layers.

    Returns:
        The doctor, whose `step` belongs into the loop.

    Raises:
        UsageError: If something given cannot be used; nothing has been changed then.
    """
    chosen = choose(profile, problems)
    parts = admit(
        model,
        optimizer,
        chosen,
        every=every,
        budget=budget,
        epochs=epochs,
        chart=chart,
        on_finding=on_finding,
        activations=activations,
    )
    return Doctor(*parts)


def admit(
    model: nn.Module,
    optimizer: object,
    problems: tuple[Problem, ...],
    *,
    every: Every,
    budget: float,
    epochs: int | None,
    chart: Chart,
    on_finding: OnFinding,
    activations: bool,
    eager: bool = True,
) -> Admitted:
    """Check what was given, and return what a doctor is made of."""
    check_model(model, trainable=True)
    optimizers = check_optimizers(optimizer, model)
    check_on_finding(on_finding, optimizers, model)
    epochs, activations = check_epochs(epochs), check_bool("activations", activations)
    kinds: list[Kind] = ["gradient", "weight", "batch", "activation"]
    governor = Governor(every, budget, kinds if activations else kinds[:-1], eager)
    history = History(Setup(epochs=epochs))
    record = RunLog(history, {each.name(): each for each in problems}, on_finding, chart)
    return model, optimizers, governor, problems, history, record
