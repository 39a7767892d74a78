"""Decide whether a trial should end: check its problems, unless it is among the best."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from sickbay.problems.trials.comparison import ComparedProblem, Comparison, LearningCurve


@dataclass(frozen=True)
class End:
    """Why a trial should end. After a `benign` end it still counts as a candidate."""

    finding: Finding
    benign: bool


def find_end(
    problems: Sequence[Problem], history: History, beside: Comparison, guard: Guard
) -> End | None:
    """Return why a trial should end now, None if it should go on.

    The guard reports a problem that raises, and switches it off.
    """
    for problem in problems:
        finding = guard.run(f"problem {problem.name()}", _check, problem, history, beside)
        if finding is not None:
            return End(finding, problem.benign)
    return None


def own_curve(history: History, metric: str) -> LearningCurve:
    """Return the learning curve of a trial so far."""
    return LearningCurve(history.epochs("loss"), history.epochs(metric))


def _check(problem: Problem, history: History, beside: Comparison) -> Finding | None:
    if isinstance(problem, ComparedProblem):
        finding = problem.compare(history, beside)
    else:
        finding = problem.check(history)
    losses = beside.own.losses
    if finding is None or not problem.yields_to_the_best or not losses:
        return finding
    others = (other.losses for other in beside.others)
    at_same_epoch = [each[len(losses) - 1] for each in others if len(each) >= len(losses)]
    return None if is_protected(losses[-1], at_same_epoch) else finding


def is_protected(loss: float, others: Sequence[float], share: float = 0.1, least: int = 10) -> bool:
    """Return whether a trial is among the best, so that some problems must not end it.

    It is if its training loss is within the best `share` of the losses that other trials had at the
    same epoch, once `least` of them have got there. Between two losses the limit is interpolated.
    It protects trials from problems with `yields_to_the_best`, as in the code published with
    BTTackler (Pei et al., 2024), which also protects trials that were among the best once.

    >>> others = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 1.0, 1.1]
    >>> is_protected(0.2, others), is_protected(0.3, others)
    (True, False)
    """
    if len(others) < max(least, 1):
        return False
    # A trial lost to NaN or Inf got there too, as the worst of all.
    ranked = sorted(each if isfinite(each) else sys.float_info.max for each in others)
    place, rest = divmod(share * (len(ranked) - 1), 1)
    low, high = ranked[int(place)], ranked[min(int(place) + 1, len(ranked) - 1)]
    return loss <= low + rest * (high - low)
