"""The doctor of an Optuna trial."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Literal, TypeAlias

from optuna import TrialPruned

from sickbay.doctor.watch_arguments import Watched
from sickbay.errors import UsageError
from sickbay.findings import Finding
from sickbay.problems.trials.never_learnt import FIRST
from sickbay.tuning.judge import End
from sickbay.tuning.optuna.study_notes import TrialNotes
from sickbay.tuning.trial_doctor import TrialDoctor

Learns: TypeAlias = Literal["last", "constraint", "penalty"]


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
        self._tell_course(notes, whole=True)
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
        self._tell_course(notes)
        found = super().after_epoch(numbers)
        prune = notes.is_single and not self._done and notes.should_prune()
        self._say_troubles(notes)
        if prune:
            self.finish()
            raise TrialPruned(f"the study's pruner ended it at epoch {self._passed_epochs}.")
        return found

    def _tell_course(self, notes: TrialNotes, whole: bool = False) -> None:
        history = self._history
        notes.course(self.learning_curve(), history.first("loss", FIRST), history.step + 1, whole)

    def end_trial(self, end: End) -> bool:
        notes = self._notes
        if notes is None or not notes.diagnosis(end):
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
