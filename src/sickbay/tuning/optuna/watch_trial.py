"""`watch` for Optuna: checks its arguments and makes the doctor of a trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import optuna
from optuna.study import StudyDirection
from optuna.trial import BaseTrial, FixedTrial, FrozenTrial, Trial
from torch import nn
from torch.optim import Optimizer

from sickbay.arguments import check_choice, check_float, check_int, short_repr
from sickbay.doctor.governor import Every
from sickbay.doctor.watch_arguments import Chart
from sickbay.errors import UsageError
from sickbay.problems import Problem
from sickbay.problems.profiles import choose
from sickbay.tuning.optuna.doctor import Learns, OptunaDoctor
from sickbay.tuning.optuna.study_notes import TrialNotes
from sickbay.tuning.recorded_search import is_maximized
from sickbay.tuning.trial_doctor import check_metric, check_trial_watched, print_nothing

LEARNS = ("last", "constraint", "penalty")
UNLIKELY = {True: "loss", False: "accuracy"}  # metrics that hardly anybody maximizes, minimizes


def watch(
    trial: BaseTrial,
    model: nn.Module,
    optimizer: Optimizer | Sequence[Optimizer] | None = None,
    *,
    epochs: int,
    profile: str = "tuning",
    problems: Sequence[str | Problem] | None = None,
    metric: str = "val_accuracy",
    direction: str | None = None,
    learns: Learns = "last",
    penalty: float | None = None,
    chart: Chart = None,
    every: Every = "auto",
    budget: float = 0.01,
    activations: bool = True,
) -> OptunaDoctor:
    """Watch a trial of Optuna, and end it if something is wrong.

    Args:
        trial: The trial. A `FrozenTrial` or `FixedTrial`, which is repeated outside of a study, is
            watched but not ended.
        model: The model, as in `sickbay.watch`.
        optimizer: Its optimizer, or several.
        epochs: The number of epochs planned.
        profile: The problems that end a trial: "tuning", or "bttackler" for those of that paper.
        problems: Your own list instead: names, or problems with your own thresholds.
        metric: The metric of the study, as it is passed to `epoch`.
        direction: "maximize" or "minimize". Taken from the study unless it has several objectives.
        learns: What the sampler learns from a sick trial: "last" (it is pruned with its last
            reported value), "constraint" (it is complete but infeasible; needs Optuna 5) or
            "penalty" (it is complete with a bad value).
        penalty: That value. By default it is the worst of the study so far.
        chart: A folder to record trials in, each in its own subfolder.
        every: How often to read statistics, as in `sickbay.watch`.
        budget: The fraction of the loop's time that watching may take.
        activations: Whether to read the outputs of layers.

    Returns:
        The doctor. Its `step` and `epoch` raise `optuna.TrialPruned` to prune the trial. If the
        trial ends in another way, `done` becomes true.

    Raises:
        UsageError: If an argument is wrong. Nothing has been changed then.
    """
    epochs = check_int("epochs", epochs, least=1)
    check_metric(metric)
    check_learns(learns, penalty)
    maximize = check_trial(trial, direction, learns)
    chosen = choose(profile, problems)
    notes = TrialNotes(trial) if isinstance(trial, Trial) else None
    if notes is not None:
        notes.check()
    watched = check_trial_watched(
        model,
        optimizer,
        chosen,
        name=trial.number,
        metric=metric,
        maximize=maximize,
        chart=chart,
        on_finding="advise" if notes is None else print_nothing,
        params=dict(trial.params),
        every=every,
        budget=budget,
        epochs=epochs,
        activations=activations,
    )
    log = watched.log
    if notes is not None:
        judged = profile if problems is None else "own"
        about: dict[str, Any] = {"profile": judged, "metric": metric, "epochs": epochs}
        about |= {} if log.path is None else {"chart": str(log.path)}
        for name, value in about.items():
            notes.attribute(f"sickbay:{name}", value)
    if UNLIKELY[maximize] in metric:
        does = "maximizes" if maximize else "minimizes"
        log.notice(f"the study {does} {metric}; see `direction` of create_study.")
    return OptunaDoctor(watched, metric, maximize, notes, learns, penalty)


def check_trial(trial: BaseTrial, direction: str | None, learns: Learns) -> bool:
    """Return whether the metric is maximized. Raise `UsageError` if the trial cannot be used."""
    if not isinstance(trial, Trial | FrozenTrial | FixedTrial):
        raise UsageError(f"trial must be a trial of Optuna, got {type(trial).__name__}.")
    given = None if direction is None else is_maximized(direction)
    if learns == "constraint" and not hasattr(trial, "set_constraint"):
        raise UsageError(
            f"learns='constraint' needs Optuna 5 or newer, got {optuna.__version__}; "
            "'last' and 'penalty' are possible."
        )
    if isinstance(trial, Trial) and len(trial.study.directions) == 1:
        own = trial.study.direction
        maximize = own == StudyDirection.MAXIMIZE
        if given not in (None, maximize):
            possible = f"that of the study, {own.name.lower()!r}, as the metric is reported to it"
            raise UsageError(f"direction must be {possible}, got {direction!r}.")
        return maximize
    where = f"with a {type(trial).__name__}, which belongs to no study"
    if isinstance(trial, Trial):
        where = "in a study of several objectives"
        if learns == "penalty":
            raise UsageError(f"learns must be 'last' or 'constraint' {where}, got 'penalty'.")
    if given is None:
        raise UsageError(f"direction must be 'maximize' or 'minimize' {where}, got None.")
    return given


def check_learns(learns: object, penalty: object) -> None:
    """Raise `UsageError` unless `learns` and `penalty` fit together."""
    check_choice("choice for learns", learns, LEARNS)
    if penalty is None:
        return
    if learns != "penalty":
        given = short_repr(penalty)
        raise UsageError(f"penalty must be None unless learns='penalty', got {given}.")
    check_float("penalty", penalty)
