"""What speaks against calling a run a success."""

from collections.abc import Iterable

from sickbay.findings import Finding
from sickbay.problems import NoisyLabels, StillFalling, TargetLeak, Underfitting, UnshuffledData
from sickbay.repairs.run import Run
from sickbay.repairs.run_settings import RunSettings

STILL_FALLING, UNDERFITTING = StillFalling.name(), Underfitting.name()
HARDLY = "that is hardly better than a constant answer"
OF_THE_DATA = tuple(each.name() for each in (NoisyLabels, TargetLeak, UnshuffledData))
ALMOST = 0.02  # from a perfect score


def is_falling(run: Run) -> bool:
    """Return whether the loss of a run was still falling at its end."""
    return any(each.problem == STILL_FALLING for each in run.progress.findings)


def is_cut_short(run: Run) -> bool:
    """Return whether a loss that was still falling is all that tells what is possible.

    Where there is a reference, it tells more: a run that reaches it has learnt enough.
    """
    unknown = run.yardstick.reference is None
    return unknown and is_falling(run) and run.yardstick.room(run.progress.score) > ALMOST


def standing(run: Run) -> list[Finding]:
    """Return the findings of a run that are more than hints."""
    return [each for each in run.progress.findings if each.severity != "info"]


def not_overcome(run: Run, settings: RunSettings) -> list[Finding]:
    """Return the findings that stand against a run. One that it overcame does not.

    Underfitting says no more than the score, which is judged by itself.
    """
    overcome = {each.name() for each in settings.problems if each.tolerated_at_best}
    overcome.add(UNDERFITTING)
    return [each for each in standing(run) if each.problem not in overcome]


def doubt_about(run: Run, settings: RunSettings, tries: int, led: Iterable[Run] = ()) -> str:
    """Return why a run that is the best of so many is no success, in one clause.

    What was wrong with the data of the runs that led to it still is.
    """
    progress, held = run.progress, run.yardstick
    if settings.target is not None and not settings.reached(progress.score):
        return f"the target is {settings.target:g}"
    if not progress.scores:
        return "no epoch was completed"
    if held.unsound:
        return held.unsound
    if not held.known and held.sought:
        return "what could be reached is not known"
    if held.trained is not None:
        return "the training labels look wrong"
    if not held.beats_constant(progress.score):
        return HARDLY
    if not held.is_near(progress.score, tries):
        if held.missing(progress.score) > 0:
            return "that is below the quick reference"
        return "that may be chance" if held.is_clear(progress.score) else HARDLY
    if held.known and held.is_vague(progress.score):
        return f"there are only {held.samples} held-out samples"
    found = not_overcome(run, settings)
    found = found or [each for one in led for each in standing(one) if each.problem in OF_THE_DATA]
    if found:
        return f"{found[0].title} stands"
    if held.known and is_cut_short(run):
        return "the loss was still falling"
    return "training did not come to its end"
