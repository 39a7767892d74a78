"""What a trial writes into its Optuna study and reads there, for as long as it can be reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, TypeVar

from optuna import Trial
from optuna.trial import FrozenTrial, TrialState

from sickbay.errors import UsageError
from sickbay.printable import error_summary
from sickbay.problems.compared import LearningCurve
from sickbay.tuning.judge import End
from sickbay.tuning.trial_json import COURSE, Written, described, plain

DIAGNOSIS = "sickbay:diagnosis"  # an attribute of a trial
COURSES = ("losses", "values")
CONSTRAINT = "sickbay"  # above 0 for a sick trial, below for the others
RARER = 100  # epochs from which on the course, always written as a whole, is written less often
UNREACHED = (
    "the study cannot be reached ({error}); training goes on, and what is found is kept here "
    "and in the chart."
)
UNPRUNED = "the study's pruner failed ({error}); training goes on, and it is asked again."

Result = TypeVar("Result")


class TrialNotes:
    """The notes of one trial.

    Nothing here raises because a storage fails, or a pruner; `troubles` are sentences that say what
    happened the first time, and every call tries again.
    """

    def __init__(self, trial: Trial) -> None:
        self.troubles: list[str] = []
        self.number = trial.number
        self.is_single = len(trial.study.directions) == 1  # only then values can be reported
        self._trial = trial
        self._noted: set[str] = set()  # kinds of trouble
        self._over: dict[int, LearningCurve] = {}  # trials that will not change any more, by number
        self._others: list[LearningCurve] = []
        self._next = 1  # epochs that the course must have to be written again
        self._written = 0  # epochs of the course that was written last

    def check(self) -> None:
        """Say so if the trial cannot be written to any more."""
        try:
            gone = "running" if self._stored().state.is_finished() else ""
        except KeyError:
            gone = "there"
        except Exception as error:  # it may be back later
            self._note(error)
            return
        if gone:
            raise UsageError(
                f"trial must be one of a study that runs, got trial {self.number}, "
                f"which is not {gone} any more."
            )

    def begin(self, **attributes: Any) -> None:
        """Set the first attributes."""
        for name, value in attributes.items():
            self.attribute(f"sickbay:{name}", value)

    def report(self, value: float, epoch: int) -> None:
        """Report the metric of an epoch, if it is a number that can be stored."""
        if isfinite(value):
            self._write(self._trial.report, value, epoch)

    def course(self, course: LearningCurve, first: float, steps: int, whole: bool = False) -> None:
        """Write down how the trial has gone so far, for the others to compare with.

        And for a replay: its first loss, and how many steps it has made.
        """
        done = max(len(course.losses), len(course.values))
        if done >= self._next or (whole and done > self._written):
            self._next = done + max(1, done // RARER)
            told: dict[str, Any] = {name: plain(getattr(course, name)) for name in COURSES}
            told |= {"first": plain([first])[0], "steps": steps}
            if self.attribute(COURSE, told):
                self._written = done

    def diagnosis(self, end: End) -> bool:
        """Write down why the trial ends; False if that failed."""
        return self.attribute(DIAGNOSIS, described(end))

    def attribute(self, name: str, value: Any) -> bool:
        """Set an attribute of the trial; False if that failed."""
        return self._write(self._trial.set_user_attr, name, value)

    def constrain(self, value: float) -> bool:
        """Tell the sampler whether the trial is feasible; False if that failed."""
        return self._write(self._constrain, value)

    def should_prune(self) -> bool:
        """Ask the study's own pruner."""
        try:
            return self._trial.should_prune()
        except Exception as error:
            if self._try(self._stored) is not None:  # the storage is there: it was the pruner
                self._note(error, UNPRUNED)
            return False

    def others(self) -> Sequence[LearningCurve]:
        """Return how the other trials of the study have gone; as known, if it is out of reach."""
        return self._try(self._read) or self._others

    def worst(self, maximize: bool) -> float | None:
        """Return the worst value that a trial of the study has ended with, None if none has."""
        trials = self._try(lambda: self._trial.study.get_trials(deepcopy=False)) or []
        values = [each.value for each in trials if each.value is not None and isfinite(each.value)]
        return (min if maximize else max)(values, default=None)

    def leave(self) -> None:
        """Give back what the storage keeps for the thread that calls this."""
        self._trial.storage.remove_session()

    def _read(self) -> Sequence[LearningCurve]:
        found = []
        for each in self._trial.study.get_trials(deepcopy=False):
            if each.number == self.number or COURSE not in each.user_attrs:
                continue
            course = self._over.get(each.number) or read(each)
            if course is None:
                continue
            if each.state.is_finished():
                self._over[each.number] = course
            found.append(course)
        self._others = found
        return found

    def _stored(self) -> FrozenTrial:
        """Return the trial as it is in the storage now."""
        found: FrozenTrial = self._trial.storage.get_trial(self._trial._trial_id)
        return found

    def _constrain(self, value: float) -> None:
        if CONSTRAINT not in self._trial.constraints:
            self._trial.set_constraint(CONSTRAINT, value)

    def _write(self, action: Callable[..., object], *args: Any) -> bool:
        return self._try(lambda: (action(*args),)) is not None

    def _try(self, action: Callable[[], Result]) -> Result | None:
        try:
            return action()
        except Exception as error:  # each storage has errors of its own
            self._note(error)
            return None

    def _note(self, error: Exception, what: str = UNREACHED) -> None:
        if what not in self._noted:
            self._noted.add(what)
            self.troubles.append(what.format(error=error_summary(error)))


def read(trial: FrozenTrial) -> LearningCurve | None:
    """Return how a trial has gone, None if that was not written by us."""
    try:
        losses, values = Written.of(trial.user_attrs).numbers()
    except UsageError:
        return None
    over = trial.state == TrialState.COMPLETE and not is_against(trial.user_attrs.get(DIAGNOSIS))
    return LearningCurve(losses, values, over=over)


def is_against(diagnosis: object) -> bool:
    """Tell whether a diagnosis stands against a trial; it may be from elsewhere.

    >>> is_against({"problem": "non_finite", "benign": False}), is_against({"benign": True})
    (True, False)
    """
    if isinstance(diagnosis, Mapping):
        return bool(diagnosis) and not diagnosis.get("benign")
    return diagnosis is not None and diagnosis is not False
