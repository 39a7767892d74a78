"""What the problems of a profile would have done to a finished search.

Trials are judged one after the other, in the order they started, each at the end of its epochs and
beside the trials before it. Of a trial that was ended, later trials only see the epochs before its
end. The last planned epoch is not judged, because ending a trial there saves nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from typing import Any

from sickbay.arguments import bad_argument, check_callable, check_list
from sickbay.findings import Finding
from sickbay.printable import error_summary
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from sickbay.problems.trials.comparison import Comparison, LearningCurve
from sickbay.tuning.judge import End, Protection, find_end, own_curve
from sickbay.tuning.recorded_search import TOP_TEN, RecordedSearch

ALL = "all together"


@dataclass(frozen=True)
class EndedTrial:
    """A trial that would have been ended.

    It is lost to the ten best, or to the best ten per cent, if it is one of them and was ended as
    sick, or as benign with too low a value to stay one of them.
    """

    trial: str
    index: int  # in the search
    epoch: int  # epochs trained before the end
    seconds_saved: float
    place: int  # 1 for the best trial
    reached: float  # the best value of all epochs
    reached_by_then: float
    lost_of_ten: bool
    lost_of_best_ten_per_cent: bool
    benign: bool
    finding: Finding

    def to_json(self) -> dict[str, Any]:
        values = {
            name: None if isinstance(value, float) and not isfinite(value) else value
            for name, value in vars(self).items()
            if name not in ("index", "finding")
        }
        return {**values, "problem": self.finding.problem, "message": self.finding.message}


@dataclass(frozen=True)
class Indicator:
    """The trials that one problem, or all together, would have ended."""

    name: str
    ended: tuple[EndedTrial, ...]
    seconds: float  # of the whole search

    @property
    def saved(self) -> float:
        """The fraction of the search's time that would have been saved."""
        return sum(each.seconds_saved for each in self.ended) / (self.seconds or 1.0)

    @property
    def lost_of_ten(self) -> int:
        return sum(each.lost_of_ten for each in self.ended)

    @property
    def lost_of_best_ten_per_cent(self) -> int:
        return sum(each.lost_of_best_ten_per_cent for each in self.ended)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "saved": self.saved,
            "lost_of_ten": self.lost_of_ten,
            "lost_of_best_ten_per_cent": self.lost_of_best_ten_per_cent,
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
    >>> from sickbay.tuning.recorded_search import Epoch, RecordedTrial
    >>> still = [Epoch({"loss": 2.3, "val_accuracy": 0.1}, seconds=3.0)] * 10
    >>> trial = RecordedTrial("0", Setup(epochs=10), still)
    >>> search = RecordedSearch("one", [trial], "val_accuracy", maximize=True)
    >>> together = replay(search, [PassiveLoss()]).together
    >>> [(each.trial, each.epoch, each.seconds_saved) for each in together.ended], together.saved
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
    beside: Sequence[LearningCurve] | None = None,
) -> list[tuple[EndedTrial, ...]]:
    """Return the trials that each of several lists of problems would have ended, in one pass.

    Each trial is compared with those before it: as far as the same problems let them get, or as in
    `beside`, which holds a curve for every trial.
    """
    ended: list[list[EndedTrial]] = [[] for _ in panels]
    curves: list[list[LearningCurve]] = [[] for _ in panels]
    for index in range(len(search.trials)):
        others = curves if beside is None else [beside[:index]] * len(panels)
        ends = judge_trial(search, index, panels, others, troubles)
        for number, end in ends.items():
            ended[number].append(end)
        for number in range(len(panels) if beside is None else 0):
            curves[number].append(_curve_after(search, index, ends.get(number)))
        tick()
    return [tuple(each) for each in ended]


def judge_trial(
    search: RecordedSearch,
    index: int,
    panels: Sequence[Sequence[Problem]],
    others: Sequence[Sequence[LearningCurve]],
    troubles: dict[str, str] | None = None,
) -> dict[int, EndedTrial]:
    """Judge a trial by lists of problems, each beside its own curves of other trials.

    Return the ends by number of the list. Lists with the very same curves share one comparison per
    epoch, which makes judging many of them fast.
    """
    trial = search.trials[index]

    def note(part: str, error: Exception) -> None:
        if troubles is not None:
            troubles.setdefault(part, f"{trial.name} ({error_summary(error)})")

    guards = {number: Guard(note) for number in range(len(panels))}
    distinct = {id(curves): curves for curves in others}
    protections = {key: Protection(chain(*panels)) for key in distinct}
    ends: dict[int, EndedTrial] = {}
    for done, history in trial.judged_epochs():
        own = own_curve(history, search.metric)
        beside = {key: Comparison(own, each, search.maximize) for key, each in distinct.items()}
        for key, protection in protections.items():
            protection.end_epoch(beside[key])
        for number, guard in list(guards.items()):
            key = id(others[number])
            protected = protections[key].was_among_best
            end = find_end(panels[number], history, beside[key], guard, protected)
            if end is not None:
                ends[number] = _ended_trial(search, index, done, end)
                del guards[number]
        if not guards:
            break
    return ends


def curves_after(search: RecordedSearch, ended: Iterable[EndedTrial]) -> list[LearningCurve]:
    """Return the learning curve of every trial, given the trials that were ended."""
    ends = {each.index: each for each in ended}
    return [_curve_after(search, index, ends.get(index)) for index in range(len(search.trials))]


def _curve_after(search: RecordedSearch, index: int, end: EndedTrial | None) -> LearningCurve:
    trial = search.trials[index]
    if end is not None:
        return search.learning_curve(trial, end.epoch, over=end.benign)
    done = len(trial.epochs)
    return search.learning_curve(trial, done, over=done >= (trial.setup.epochs or 0))


def _ended_trial(search: RecordedSearch, index: int, epoch: int, end: End) -> EndedTrial:
    trial = search.trials[index]
    reached_by_then = search.best_value(trial, epoch)

    def is_lost(count: int) -> bool:
        stays = end.benign and search.would_stay_among_best(index, reached_by_then, count)
        return search.is_among_best(index, count) and not stays

    return EndedTrial(
        trial=trial.name,
        index=index,
        epoch=epoch,
        seconds_saved=sum(each.seconds for each in trial.epochs[epoch:]),
        place=search.ranks[index],
        reached=search.values[index],
        reached_by_then=reached_by_then,
        lost_of_ten=is_lost(TOP_TEN),
        lost_of_best_ten_per_cent=is_lost(search.top_tenth),
        benign=end.benign,
        finding=end.finding,
    )
