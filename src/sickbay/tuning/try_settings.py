"""Many settings of problems, each alone, beside the same other trials: quick, for calibrating."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from sickbay.history import History
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from sickbay.problems.compared import Comparison, LearningCurve
from sickbay.tuning.finished_search import Search
from sickbay.tuning.judge import Judge
from sickbay.tuning.replay import Ended, ending, judged_epochs


def try_alone(
    search: Search,
    problems: Sequence[Problem],
    courses: Sequence[LearningCurve],
    tick: Callable[[], object] = lambda: None,
) -> list[tuple[Ended, ...]]:
    """Return what each problem alone would have ended, had the other trials gone as given."""
    found: list[list[Ended]] = [[] for _ in problems]
    for index, trial in enumerate(search.trials):
        judging = dict(enumerate(_judge(search, problem) for problem in problems))
        for epoch, history in judged_epochs(trial):
            beside = _beside(search, history, courses[:index])
            for number, judge in list(judging.items()):
                end = judge.weigh(history, beside)
                if end is not None:
                    found[number].append(ending(search, index, epoch, end))
                    del judging[number]
        tick()
    return [tuple(each) for each in found]


class Shared(Comparison):
    """A comparison that many are judged by: what was asked once is known."""

    @cached_property
    def _bests(self) -> dict[tuple[float, int], float]:
        return {}

    @cached_property
    def _gains(self) -> list[float]:
        return super().gains()

    def best_of(self, share: float, least: int) -> float:
        if (share, least) not in self._bests:
            self._bests[share, least] = super().best_of(share, least)
        return self._bests[share, least]

    def gains(self) -> list[float]:
        return self._gains


def _beside(search: Search, history: History, others: Sequence[LearningCurve]) -> Shared:
    own = LearningCurve(history.epochs("loss"), history.epochs(search.metric))
    return Shared(own, others, search.maximize)


def _judge(search: Search, problem: Problem) -> Judge:
    return Judge([problem], search.metric, search.maximize, Guard(lambda *_: None))
