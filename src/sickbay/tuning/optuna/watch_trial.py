"""`watch` for Optuna, which checks its arguments, and the doctor of a trial that it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from typing import Any, Literal, TypeAlias, get_args

import optuna
from optuna import TrialPruned
from optuna.study import StudyDirection
from optuna.trial import BaseTrial, FixedTrial, FrozenTrial, Trial
from torch import nn
from torch.optim import Optimizer

from sickbay.arguments import check_choice, check_float, check_int, short_repr
from sickbay.doctor.governor import Every
from sickbay.doctor.watch_arguments import Chart, Watched
from sickbay.errors import UsageError
from sickbay.findings import Finding
from sickbay.problems import Problem
from sickbay.problems.profiles import choose
from sickbay.problems.trials.never_learnt import FIRST
from sickbay.tuning.judge import End
from sickbay.tuning.optuna.study_notes import DIAGNOSIS, TrialNotes, describe_end
from sickbay.tuning.recorded_search import DEFAULT_METRIC, is_maximized
from sickbay.tuning.trial_doctor import TrialDoctor, check_metric, prepare_trial, print_nothing

Learns: TypeAlias = Literal["last", "constraint", "penalty"]
UNLIKELY = {True: "loss", False: "accuracy"}  # metrics that hardly anybody maximizes, minimizes


def watch(
    trial: BaseTrial,
    model: nn.Module,
    optimizer: Optimizer | Sequence[Optimizer] | None = None,
    *,
    epochs: int,
    profile: str = "tuning",
    problems: Sequence[str | Problem] | None = None,
    metric: str = DEFAULT_METRIC,
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
        profile: The problems that end a trial: "tuning", "bttackler" (the rules of the code
            published with that paper) or "bttackler_paper" (those of the paper).
        problems: Your own list instead: names, or problems with your own thresholds.
        metric: The metric of the study, as it is passed to `epoch`.
        direction: "maximize" or "minimize". Taken from the study unless it has several objectives.
        learns: What the sampler learns from a sick trial: "last" (it is pruned with its last
            reported value), "constraint" (it is complete but infeasible; needs Optuna 5) or
            "penalty" (it is complete with a bad value).
        penalty: The value of a sick trial with learns='penalty'; by default the worst of the study
            so far.
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
    watched = prepare_trial(
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
    check_choice("choice for learns", learns, get_args(Learns))
    if penalty is None:
        return
    if learns != "penalty":
        given = short_repr(penalty)
        raise UsageError(f"penalty must be None unless learns='penalty', got {given}.")
    check_float("penalty", penalty)


class OptunaDoctor(TrialDoctor):
    """Watches an Optuna trial; made by `watch`."""

    ended_by = (TrialPruned,)

    def __init__(
        self,
        watched: Watched,
        metric: str,
        maximize: bool,
        notes: TrialNotes | None,
        learns: Learns,
        penalty: float | None,
    ) -> None:
        # A trial that is repeated outside of a study has no notes, and nothing prunes it.
        self._notes = notes
        self._learns, self._penalty = learns, penalty
        others, leave = (None, None) if notes is None else (notes.others, notes.leave)
        super().__init__(watched, metric, maximize, others, leave)

    def result(self) -> float:
        """Close the doctor and return the value for the objective to return.

        That is the best value of the metric. For a trial that was ended because something is wrong,
        it is what the sampler should learn from it.
        """
        self.close()
        best = self.best
        if self._was_sick and (self._learns == "penalty" or best is None):
            best = self._penalty
        elif not self._values:
            raise UsageError(f"{self._metric} must be given to epoch() for there to be a result.")
        if best is None:
            raise TrialPruned(f"{self._metric} was never a finite number.")
        return best

    def close(self) -> None:
        """Remove every hook, finish the chart, and write the notes of the study."""
        if self._notes is not None:
            self._guard.run("leaving notes", self._leave_notes, self._notes)
        super().close()

    def _leave_notes(self, notes: TrialNotes) -> None:
        self._write_curve(notes, whole=True)
        if self._learns == "constraint":
            notes.constrain(1.0 if self._was_sick else -1.0)
        self._say_troubles(notes)

    @property
    def _was_sick(self) -> bool:
        """Whether it was ended because something is wrong; a finding alone does not end it."""
        return self._done and self._end is not None and is_sick(self._end)

    def after_epoch(self, numbers: Mapping[str, float]) -> list[Finding]:
        notes = self._notes
        if notes is None:
            return super().after_epoch(numbers)
        if notes.is_single:
            notes.report(numbers.get(self._metric, nan), self._passed_epochs - 1)
        self._write_curve(notes)
        found = super().after_epoch(numbers)
        prune = notes.is_single and not self._done and notes.should_prune()
        self._say_troubles(notes)
        if prune:
            self.finish()
            raise TrialPruned(f"the study's pruner ended it at epoch {self._passed_epochs}.")
        return found

    def _write_curve(self, notes: TrialNotes, whole: bool = False) -> None:
        first, steps = self._history.first("loss", FIRST), self._history.step + 1
        notes.write_curve(self.learning_curve(), first, steps, whole)

    def end_trial(self, end: End) -> bool:
        notes = self._notes
        if notes is None or not notes.attribute(DIAGNOSIS, describe_end(end)):
            return False
        if not end.benign and (self._learns == "last" or not self._can_complete(end)):
            self.finish()
            raise TrialPruned(sentence(end.finding))
        self._log.notice(f"trial {notes.number} is done: {sentence(end.finding)}")
        return True

    def _say_troubles(self, notes: TrialNotes) -> None:
        for trouble in notes.troubles:
            self._log.notice(trouble)

    def _can_complete(self, end: End) -> bool:
        """Return whether there is a value for a trial that is ended early."""
        if not is_sick(end):
            return self.best is not None
        if self._penalty is None and self._notes is not None and self._notes.is_single:
            self._penalty = self._notes.worst(self._maximize)
        return self._penalty is not None or (self._learns == "constraint" and self.best is not None)


def is_sick(end: End) -> bool:
    """Return whether something is wrong; a trial that is merely worse than others is healthy."""
    return not end.benign and end.finding.severity != "info"


def sentence(finding: Finding) -> str:
    """Return a finding as one sentence.

    >>> sentence(Finding(problem="loss_spike", step=7, epoch=2, message="loss 9 (usual 1)"))
    'loss spike at epoch 2, step 7: loss 9 (usual 1).'
    """
    where = f" in {finding.where}" if finding.where else ""
    return (
        f"{finding.title}{where} at epoch {finding.epoch}, step {finding.step}: {finding.message}."
    )
