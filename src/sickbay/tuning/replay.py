"""What the problems of a profile would have done to a finished search.

Trials are judged one after the other, in the order they started, each at the end of its epochs and
beside the trials before it. Of a trial that was ended, later trials only see the epochs before its
end. The last planned epoch is not judged, because ending a trial there saves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from sickbay.arguments import bad_argument, check_callable, check_list
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.printable import error_summary
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from sickbay.problems.trials.comparison import LearningCurve
from sickbay.tuning.judge import End, Judge
from sickbay.tuning.recorded_search import TOP_TEN, RecordedSearch, RecordedTrial

ALL = "all together"


@dataclass(frozen=True)
class EndedTrial:
    """A trial that would have been ended.

    Attributes:
        trial: Its name.
        index: Its position in the search.
        epoch: The number of epochs it would have trained.
        saved: The duration of the epochs after that, in seconds.
        rank: Its rank by `value`, 1 for the best.
        value: The best value of all its epochs.
        value_then: The best value before its end.
        lost_of_ten: Whether one of the ten best trials is lost: it was ended as sick, or as benign
            with too low a value to stay among them.
        lost_of_tenth: The same for the best ten per cent.
        benign: Whether it stays a candidate.
        finding: Why it was ended.
    """

    trial: str
    index: int
    epoch: int
    saved: float
    rank: int
    value: float
    value_then: float
    lost_of_ten: bool
    lost_of_tenth: bool
    benign: bool
    finding: Finding

    def to_json(self) -> dict[str, Any]:
        return {
            "trial": self.trial,
            "epoch": self.epoch,
            "seconds_saved": self.saved,
            "place": self.rank,
            "reached": self.value if isfinite(self.value) else None,
            "reached_by_then": self.value_then if isfinite(self.value_then) else None,
            "lost_of_ten": self.lost_of_ten,
            "lost_of_best_ten_per_cent": self.lost_of_tenth,
            "benign": self.benign,
            "problem": self.finding.problem,
            "message": self.finding.message,
        }


@dataclass(frozen=True)
class Indicator:
    """The trials that one problem, or all together, would have ended."""

    name: str
    ended: tuple[EndedTrial, ...]
    seconds: float  # of the whole search

    @property
    def saved(self) -> float:
        """The fraction of the search's time that would have been saved."""
        return sum(each.saved for each in self.ended) / self.seconds if self.seconds else 0.0

    @property
    def lost_of_ten(self) -> int:
        """How many of the ten best trials would have been lost."""
        return sum(each.lost_of_ten for each in self.ended)

    @property
    def lost_of_tenth(self) -> int:
        """How many of the best ten per cent would have been lost."""
        return sum(each.lost_of_tenth for each in self.ended)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "saved": self.saved,
            "lost_of_ten": self.lost_of_ten,
            "lost_of_best_ten_per_cent": self.lost_of_tenth,
            "ended": [each.to_json() for each in self.ended],
        }


@dataclass(frozen=True)
class Replay:
    """Each indicator alone, and all together. `troubles` names the indicators that raised."""

    search: RecordedSearch
    alone: tuple[Indicator, ...]
    together: Indicator
    troubles: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        search = self.search
        return {
            "search": search.name,
            "trials": len(search.trials),
            "unfinished_trials": sum(
                len(trial.epochs) < (trial.setup.epochs or 0) for trial in search.trials
            ),
            "seconds": search.seconds,
            "metric": search.metric,
            "direction": "maximize" if search.maximize else "minimize",
            "best_ten_per_cent": search.top_tenth,
            "indicators": [each.to_json() for each in self.alone],
            "together": self.together.to_json(),
            "troubles": list(self.troubles),
        }


def replay(
    search: RecordedSearch, problems: Sequence[Problem], tick: Callable[[], object] = lambda: None
) -> Replay:
    """Judge a finished search again, and call `tick` after each trial.

    >>> from sickbay.problems import PassiveLoss
    >>> from sickbay.vitals import Setup
    >>> from sickbay.tuning.recorded_search import Epoch
    >>> still = [Epoch({"loss": 2.3, "val_accuracy": 0.1}, seconds=3.0)] * 10
    >>> trial = RecordedTrial("0", Setup(epochs=10), still)
    >>> search = RecordedSearch("one", [trial], "val_accuracy", maximize=True)
    >>> together = replay(search, [PassiveLoss()]).together
    >>> [(each.trial, each.epoch, each.saved) for each in together.ended], together.saved
    ([('0', 3, 21.0)], 0.7)
    """
    if not isinstance(search, RecordedSearch):
        raise bad_argument("search", "a RecordedSearch", search)
    problems = check_list("problems", problems, Problem, "problems")
    check_callable("tick", tick)
    troubles: dict[str, str] = {}
    panels = [*([each] for each in problems), problems]
    ended = judge_search(search, panels, tick, troubles)
    names = [*(problem.name() for problem in problems), ALL]
    *alone, together = (Indicator(*each, search.seconds) for each in zip(names, ended, strict=True))
    failed = tuple(f"{part} failed in {error}" for part, error in troubles.items())
    return Replay(search, tuple(alone), together, failed)


def judge_search(
    search: RecordedSearch,
    panels: Sequence[Sequence[Problem]],
    tick: Callable[[], object] = lambda: None,
    troubles: dict[str, str] | None = None,
) -> list[tuple[EndedTrial, ...]]:
    """Return the trials that each of several lists of problems would have ended, in one pass."""
    troubles = {} if troubles is None else troubles
    judging = [_Panel(problems, search, troubles) for problems in panels]
    for index, trial in enumerate(search.trials):
        for panel in judging:
            panel.begin(index, trial)
        undecided = judging
        for done, history in trial.judged_epochs():
            undecided = [panel for panel in undecided if panel.goes_on(done, history)]
            if not undecided:
                break
        for panel in judging:
            panel.finish()
        tick()
    return [tuple(panel.ended) for panel in judging]


class _Panel:
    """Problems that judge a search together, trial after trial."""

    def __init__(
        self, problems: Sequence[Problem], search: RecordedSearch, troubles: dict[str, str]
    ) -> None:
        self.ended: list[EndedTrial] = []
        self._problems, self._search, self._troubles = problems, search, troubles
        self._curves: list[LearningCurve] = []
        self._end: EndedTrial | None = None  # of the current trial

    def begin(self, index: int, trial: RecordedTrial) -> None:
        search, guard = self._search, Guard(self._note)
        self._judge = Judge(self._problems, search.metric, search.maximize, guard)
        self._index, self._trial, self._end = index, trial, None

    def goes_on(self, done: int, history: History) -> bool:
        end = self._judge.judge(history, self._curves)
        if end is not None:
            self._end = ended_trial(self._search, self._index, done, end)
            self.ended.append(self._end)
        return end is None

    def finish(self) -> None:
        self._curves.append(_curve_after(self._search, self._trial, self._end))

    def _note(self, part: str, error: Exception) -> None:
        self._troubles.setdefault(part, f"{self._trial.name} ({error_summary(error)})")


def curves_after(search: RecordedSearch, ended: Iterable[EndedTrial]) -> list[LearningCurve]:
    """Return the learning curve of every trial, given the trials that were ended."""
    ends = {each.index: each for each in ended}
    return [
        _curve_after(search, trial, ends.get(index)) for index, trial in enumerate(search.trials)
    ]


def _curve_after(
    search: RecordedSearch, trial: RecordedTrial, end: EndedTrial | None
) -> LearningCurve:
    if end is not None:
        return search.learning_curve(trial, end.epoch, over=end.benign)
    done = len(trial.epochs)
    return search.learning_curve(trial, done, over=done >= (trial.setup.epochs or 0))


def ended_trial(search: RecordedSearch, index: int, epoch: int, end: End) -> EndedTrial:
    """Return the consequences of ending a trial after `epoch` epochs."""
    trial = search.trials[index]
    value_then = search.best_value(trial, epoch)

    def is_lost(count: int) -> bool:
        stays = end.benign and search.would_stay_among_best(index, value_then, count)
        return search.is_among_best(index, count) and not stays

    return EndedTrial(
        trial=trial.name,
        index=index,
        epoch=epoch,
        saved=sum(each.seconds for each in trial.epochs[epoch:]),
        rank=search.ranks[index],
        value=search.values[index],
        value_then=value_then,
        lost_of_ten=is_lost(TOP_TEN),
        lost_of_tenth=is_lost(search.top_tenth),
        benign=end.benign,
        finding=end.finding,
    )
