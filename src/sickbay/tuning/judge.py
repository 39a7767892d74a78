"""Decide whether a trial should end: check its problems, unless it is among the best."""

import sys
from collections.abc import Iterable, Sequence
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
    problems: Sequence[Problem],
    history: History,
    beside: Comparison,
    guard: Guard,
    was_among_best: bool = False,
) -> End | None:
    """Return why a trial should end now, None if it should go on.

    `was_among_best` says whether the trial was among the best at an earlier epoch. The guard
    reports a problem that raises, and switches it off.
    """

    def check(problem: Problem) -> Finding | None:
        finding = _check(problem, history, beside)
        lasts = was_among_best and problem.protection_lasts
        if finding is None or not problem.yields_to_the_best:
            return finding
        return None if lasts or is_among_best(beside) else finding

    for problem in problems:
        finding = guard.run(f"problem {problem.name()}", check, problem)
        if finding is not None:
            return End(finding, problem.benign)
    return None


def own_curve(history: History, metric: str) -> LearningCurve:
    """Return the learning curve of a trial so far."""
    return LearningCurve(history.epochs("loss"), history.epochs(metric))


def _check(problem: Problem, history: History, beside: Comparison) -> Finding | None:
    if isinstance(problem, ComparedProblem):
        return problem.compare(history, beside)
    return problem.check(history)


def is_among_best(beside: Comparison) -> bool:
    """Return whether a trial is protected at its newest epoch, see `is_protected`."""
    losses = beside.own.losses
    if not losses:
        return False
    others = (other.losses for other in beside.others)
    at_same_epoch = [each[len(losses) - 1] for each in others if len(each) >= len(losses)]
    return is_protected(losses[-1], at_same_epoch)


class Protection:
    """Remembers whether a trial was among the best at the end of one of its epochs.

    The code published with BTTackler (Pei et al., 2024) protects such a trial for good. Problems
    with `protection_lasts` do the same.

    >>> from sickbay.problems import PassiveLoss
    >>> others = [LearningCurve([0.5, 0.1], [])] * 10
    >>> protection = Protection([PassiveLoss()])
    >>> for losses in ([0.4], [0.4, 0.3]):
    ...     protection.end_epoch(Comparison(LearningCurve(losses, []), others))
    >>> protection.was_among_best
    True
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.was_among_best = False
        self._lasts = any(problem.protection_lasts for problem in problems)

    def end_epoch(self, beside: Comparison) -> None:
        """Take note of an epoch that is over."""
        if self._lasts and not self.was_among_best:
            self.was_among_best = is_among_best(beside)


def is_protected(loss: float, others: Sequence[float], share: float = 0.1, least: int = 10) -> bool:
    """Return whether a trial is among the best, so that some problems must not end it.

    It is if its training loss is within the best `share` of the losses that other trials had at the
    same epoch, once `least` of them have got there. Between two losses the limit is interpolated.
    It protects trials from problems with `yields_to_the_best`, as in the code published with
    BTTackler (Pei et al., 2024).

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
