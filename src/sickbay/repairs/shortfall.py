"""What is left to do about a run that had all its epochs, although nothing stopped it."""

from dataclasses import replace

from sickbay.findings import Finding
from sickbay.problems import Underfitting
from sickbay.repairs.doubts import is_cut_short, is_falling, standing
from sickbay.repairs.run import Run
from sickbay.repairs.search import Search

UNDERFITTING = Underfitting.name()


def shortfall(search: Search, run: Run) -> Finding | None:
    """Return what to treat in a run that ended by itself, None if it may stay as it is.

    A run as given is left alone, unless it is below the reference, and was warned about or is no
    success, not even by chance. One that was repaired must suffice, if that can be judged. Where
    there is no reference, a loss that was still falling says that more is possible.
    """
    progress, yardstick = run.progress, run.yardstick
    if not progress.healthy or progress.stopped or not search.is_complete(run):
        return None
    if not progress.scores or search.settings.reached(progress.score):
        return None
    if run.remedy is not None:
        ended = search.suffices(run) or not yardstick.known
        return None if ended and not is_cut_short(run) else _short(run)
    warned = [each for each in standing(run) if each.problem in run.treatable]
    if warned and yardstick.missing(progress.score) > 0:
        return warned[0]
    if yardstick.falls_short(progress.score):
        return _short(run)
    return _short(run) if yardstick.known and is_cut_short(run) else None


def noted(search: Search, run: Run) -> Run:
    """Return the run, with what is left to do as its finding."""
    found = shortfall(search, run)
    if found is not None:
        run.progress = replace(run.progress, finding=found)
    return run


def _short(run: Run) -> Finding:
    told = [f"the best score is {run.progress.score:.3g}", run.yardstick.told()]
    told += ["the loss was still falling"] if is_falling(run) else []
    message = "; ".join(each for each in told if each)
    step = max((each.step for each in run.progress.findings), default=0)
    return Finding(problem=UNDERFITTING, step=step, message=message)
