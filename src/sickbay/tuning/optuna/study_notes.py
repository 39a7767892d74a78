"""What a trial writes to its Optuna study and reads from it, as long as it can be reached."""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, TypeVar

from optuna import Trial
from optuna.trial import FrozenTrial, TrialState

from sickbay.errors import UsageError
from sickbay.printable import error_summary
from sickbay.problems.trials.comparison import LearningCurve
from sickbay.tuning.judge import End
from sickbay.tuning.optuna_trials import CURVE, StoredCurve

DIAGNOSIS = "sickbay:diagnosis"  # an attribute of a trial
CONSTRAINT = "sickbay"  # above 0 for a sick trial, below for the others
MAX_LAYERS = 20  # named in a diagnosis; the chart has them all
RARELY_AFTER = 100  # epochs; the curve is always written as a whole, so later on less often
UNREACHABLE = (
    "the study cannot be reached ({error}); training goes on, and findings are kept here and in "
    "the chart."
)
PRUNER_FAILED = "the study's pruner failed ({error}); training goes on, and it is asked again."

Result = TypeVar("Result")


class TrialNotes:
    """The notes of one trial in its study.

    Nothing here raises when a storage or a pruner fails, and every call tries again. `troubles`
    are sentences about the first failure of each kind.
    """

    def __init__(self, trial: Trial) -> None:
        self.troubles: list[str] = []
        self.number = trial.number
        self.is_single = len(trial.study.directions) == 1  # otherwise values cannot be reported
        self._trial = trial
        self._noted: set[str] = set()  # kinds of trouble
        self._finished: dict[int, LearningCurve] = {}  # curves that are final, by trial number
        self._others: list[LearningCurve] = []
        self._next = 1  # epochs at which the curve is written again
        self._written = 0  # epochs of the curve written last

    def check(self) -> None:
        """Raise `UsageError` if the trial can no longer be written to."""
        try:
            gone = "running" if self._stored().state.is_finished() else ""
        except KeyError:
            gone = "there"
        except Exception as error:  # the storage may be back later
            self._note(error)
            return
        if gone:
            raise UsageError(
                f"trial must be one of a running study, got trial {self.number}, "
                f"which is not {gone} any more."
            )

    def report(self, value: float, epoch: int) -> None:
        """Report the metric of an epoch, if it is finite."""
        if isfinite(value):
            self._write(self._trial.report, value, epoch)

    def write_curve(
        self, curve: LearningCurve, first: float, steps: int, whole: bool = False
    ) -> None:
        """Write the learning curve for the other trials, and first loss and steps for a replay."""
        done = max(len(curve.losses), len(curve.values))
        if done >= self._next or (whole and done > self._written):
            self._next = done + max(1, done // RARELY_AFTER)
            stored = {
                "losses": to_json_numbers(curve.losses),
                "values": to_json_numbers(curve.values),
                "first": to_json_numbers([first])[0],
                "steps": steps,
            }
            if self.attribute(CURVE, stored):
                self._written = done

    def attribute(self, name: str, value: Any) -> bool:
        """Set an attribute of the trial. Return False if that failed."""
        return self._write(self._trial.set_user_attr, name, value)

    def constrain(self, value: float) -> bool:
        """Tell the sampler whether the trial is feasible. Return False if that failed."""
        return self._write(self._constrain, value)

    def should_prune(self) -> bool:
        """Ask the study's own pruner."""
        try:
            return self._trial.should_prune()
        except Exception as error:
            if self._try(self._stored) is not None:  # the storage works: it was the pruner
                self._note(error, PRUNER_FAILED)
            return False

    def others(self) -> Sequence[LearningCurve]:
        """Return the curves of the other trials, or the last known ones if out of reach."""
        return self._try(self._read) or self._others

    def worst(self, maximize: bool) -> float | None:
        """Return the worst value of a finished trial of the study, None if there is none."""
        trials = self._try(lambda: self._trial.study.get_trials(deepcopy=False)) or []
        values = [each.value for each in trials if each.value is not None and isfinite(each.value)]
        return (min if maximize else max)(values, default=None)

    def leave(self) -> None:
        """Close the session that the storage holds for the calling thread."""
        self._trial.storage.remove_session()

    def _read(self) -> Sequence[LearningCurve]:
        found = []
        for each in self._trial.study.get_trials(deepcopy=False):
            if each.number == self.number or CURVE not in each.user_attrs:
                continue
            curve = self._finished.get(each.number) or read_curve(each)
            if curve is None:
                continue
            if each.state.is_finished():
                self._finished[each.number] = curve
            found.append(curve)
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
        except Exception as error:  # every storage raises its own kinds
            self._note(error)
            return None

    def _note(self, error: Exception, trouble: str = UNREACHABLE) -> None:
        if trouble not in self._noted:
            self._noted.add(trouble)
            self.troubles.append(trouble.format(error=error_summary(error)))


def read_curve(trial: FrozenTrial) -> LearningCurve | None:
    """Return the learning curve of a trial, None if its attribute is not one of ours."""
    try:
        losses, values = StoredCurve.of(trial.user_attrs).numbers()
    except UsageError:
        return None
    over = trial.state == TrialState.COMPLETE and not is_against(trial.user_attrs.get(DIAGNOSIS))
    return LearningCurve(losses, values, over=over)


def is_against(diagnosis: object) -> bool:
    """Return whether a diagnosis speaks against a trial. It may come from another program.

    >>> is_against({"problem": "non_finite", "benign": False}), is_against({"benign": True})
    (True, False)
    """
    if isinstance(diagnosis, Mapping):
        return bool(diagnosis) and not diagnosis.get("benign")
    return diagnosis is not None and diagnosis is not False


def describe_end(end: End) -> dict[str, Any]:
    """Return why a trial has ended, as JSON. Evidence that is not finite is left out.

    >>> from sickbay.findings import Finding
    >>> finding = Finding(problem="plateau", step=7, evidence={"now": 2.0, "was": float("nan")})
    >>> describe_end(End(finding, benign=False))["evidence"]
    {'now': 2.0}
    """
    finding = end.finding
    evidence = {name: float(value) for name, value in finding.evidence.items() if isfinite(value)}
    return {
        "problem": finding.problem,
        "message": finding.message,
        "epoch": finding.epoch,
        "step": finding.step,
        "layers": list(finding.layers[:MAX_LAYERS]),
        "benign": end.benign,
        "evidence": evidence,
    }


def to_json_numbers(values: Sequence[float]) -> list[float | None]:
    """Round numbers to six digits, and replace those that are not finite with None.

    >>> to_json_numbers([2 / 3, float("nan")])
    [0.666667, None]
    """
    return [float(f"{value:.6g}") if isfinite(value) else None for value in values]
