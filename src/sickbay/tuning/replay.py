"""What the problems of a profile would have done to a search that is over.

Trials are taken one after the other, in the order in which they began. Each is judged at the end of
its epochs beside those before it; of one that was ended, only the epochs until then count. The last
planned epoch is not judged, as nothing is left to save.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from sickbay.arguments import bad_argument, check_callable, check_list
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.printable import error_summary
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from sickbay.problems.compared import LearningCurve
from sickbay.tuning.finished_search import TEN, Search
from sickbay.tuning.judge import End, Judge
from sickbay.tuning.recorded_trial import Recorded

ALL = "all together"


@dataclass(frozen=True)
class Ended:
    """A trial that would have been ended.

    `index` is its number in the search, `epoch` how many epochs were over, `saved` the seconds of
    those that would not have been. By what it has `reached` in all its epochs it has its `place`;
    until its end it had reached `kept`. It is `lost` to the ten best, or to the best ten per cent,
    if it is one of them and was ended as sick, or with too little to stay one.
    """

    trial: str
    index: int
    epoch: int
    saved: float
    place: int
    reached: float
    kept: float
    lost_of_ten: bool
    lost_of_tenth: bool
    benign: bool
    finding: Finding


@dataclass(frozen=True)
class Judged:
    """What one indicator, or all together, would have ended; `seconds` are those of the search."""

    name: str
    ended: tuple[Ended, ...]
    seconds: float

    @property
    def saved(self) -> float:
        """The share of the time that would have been saved."""
        return sum(each.saved for each in self.ended) / self.seconds if self.seconds else 0.0

    @property
    def benign(self) -> int:
        """How many of the ends were benign."""
        return sum(each.benign for each in self.ended)

    @property
    def epoch(self) -> float | None:
        """The epoch of the middle one."""
        return median(each.epoch for each in self.ended) if self.ended else None

    @property
    def lost_of_ten(self) -> int:
        """How many of the ten best would have been lost."""
        return sum(each.lost_of_ten for each in self.ended)

    @property
    def lost_of_tenth(self) -> int:
        """How many of the best ten per cent would have been lost."""
        return sum(each.lost_of_tenth for each in self.ended)


@dataclass(frozen=True)
class Replay:
    """Each indicator alone, and all together; `troubles` are indicators that failed."""

    search: Search
    alone: tuple[Judged, ...]
    together: Judged
    troubles: tuple[str, ...] = ()


def replay(
    search: Search, problems: Sequence[Problem], tick: Callable[[], object] = lambda: None
) -> Replay:
    """Judge a search again; `tick` is called after each trial.

    >>> from sickbay.problems import PassiveLoss
    >>> from sickbay.vitals import Setup
    >>> from sickbay.tuning.recorded_trial import Epoch
    >>> still = [Epoch({"loss": 2.3, "val_accuracy": 0.1}, seconds=3.0)] * 10
    >>> search = Search("one", [Recorded("0", Setup(epochs=10), still)], "val_accuracy", True)
    >>> judged = replay(search, [PassiveLoss()]).together
    >>> [(each.trial, each.epoch, each.saved) for each in judged.ended], judged.saved
    ([('0', 3, 21.0)], 0.7)
    """
    if not isinstance(search, Search):
        raise bad_argument("search", "a Search", search)
    problems = check_list("problems", problems, Problem, "problems")
    check_callable("tick", tick)
    troubles: dict[str, str] = {}
    names = [problem.name() for problem in problems]
    *alone, together = walk(search, [*([each] for each in problems), problems], tick, troubles)
    seconds = search.seconds
    return Replay(
        search,
        tuple(Judged(*each, seconds) for each in zip(names, alone, strict=True)),
        Judged(ALL, together, seconds),
        tuple(f"{part} failed in {error}" for part, error in troubles.items()),
    )


def walk(
    search: Search,
    panels: Sequence[Sequence[Problem]],
    tick: Callable[[], object] = lambda: None,
    troubles: dict[str, str] | None = None,
) -> list[tuple[Ended, ...]]:
    """Return what each of several lists of problems would have ended, in one go."""
    troubles = {} if troubles is None else troubles
    sitting = [_Panel(problems, search, troubles) for problems in panels]
    for index, trial in enumerate(search.trials):
        _judge_trial(sitting, index, trial)
        tick()
    return [tuple(panel.ended) for panel in sitting]


def _judge_trial(panels: Sequence[_Panel], index: int, trial: Recorded) -> None:
    for panel in panels:
        panel.begin(index, trial)
    judging = list(panels)
    for epoch, history in judged_epochs(trial):
        judging = [panel for panel in judging if panel.goes_on(epoch, history)]
        if not judging:
            break
    for panel in panels:
        panel.finish()


def judged_epochs(trial: Recorded) -> Iterator[tuple[int, History]]:
    """Yield the history of a trial after every epoch but the last planned one."""
    last = trial.setup.epochs or len(trial.epochs)
    for epoch, history in enumerate(trial.histories(), 1):
        if epoch >= last:
            return
        yield epoch, history


def left_by(search: Search, ended: Iterable[Ended]) -> list[LearningCurve]:
    """Return how far each trial of a search has got, if these were ended."""
    ends = {each.index: each for each in ended}
    courses = []
    for index, trial in enumerate(search.trials):
        end, epochs = ends.get(index), len(trial.epochs)
        over = epochs >= (trial.setup.epochs or 0) if end is None else end.benign
        courses.append(search.course(trial, epochs if end is None else end.epoch, over))
    return courses


class _Panel:
    """Problems that judge a search together, trial after trial."""

    def __init__(
        self, problems: Sequence[Problem], search: Search, troubles: dict[str, str]
    ) -> None:
        self.ended: list[Ended] = []
        self._problems, self._search, self._troubles = problems, search, troubles
        self._courses: list[LearningCurve] = []

    def begin(self, index: int, trial: Recorded) -> None:
        guard, search = Guard(self._note), self._search
        self._judge = Judge(self._problems, search.metric, search.maximize, guard)
        self._index, self._trial, self._epochs = index, trial, len(trial.epochs)
        self._over = self._epochs >= (trial.setup.epochs or 0)

    def goes_on(self, epoch: int, history: History) -> bool:
        end = self._judge.judge(history, self._courses)
        if end is not None:
            self._epochs, self._over = epoch, end.benign
            self.ended.append(ending(self._search, self._index, epoch, end))
        return end is None

    def finish(self) -> None:
        self._courses.append(self._search.course(self._trial, self._epochs, self._over))

    def _note(self, part: str, error: Exception) -> None:
        text = f"{self._trial.name} ({error_summary(error)})"
        self._troubles.setdefault(part, text)


def ending(search: Search, index: int, epoch: int, end: End) -> Ended:
    """Return what it means to end a trial after so many epochs."""
    trial = search.trials[index]
    kept = search.reached(trial, epoch)
    lost = [
        search.is_good(index, count) and not (end.benign and search.would_stay(index, kept, count))
        for count in (TEN, search.tenth)
    ]
    return Ended(
        trial=trial.name,
        index=index,
        epoch=epoch,
        saved=sum(each.seconds for each in trial.epochs[epoch:]),
        place=search.places[index],
        reached=search.values[index],
        kept=kept,
        lost_of_ten=lost[0],
        lost_of_tenth=lost[1],
        benign=end.benign,
        finding=end.finding,
    )
