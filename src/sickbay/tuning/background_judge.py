"""Judging a trial beside its training, in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Condition, Thread
from time import thread_time

from sickbay.history import History
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from sickbay.problems.trials.comparison import ComparedProblem, LearningCurve
from sickbay.tuning.judge import End, Judge
from sickbay.vitals import Setup, Vitals

PATIENCE = 10.0  # seconds that the end of an epoch waits for its verdict at the most


@dataclass(frozen=True)
class Batch:
    """Readings in order, and the epoch that ends with them, if one does."""

    vitals: Sequence[Vitals]
    setup: Setup
    metrics: Mapping[str, float] | None = None  # of the epoch that ends


class Checker:
    """Keeps a history like the doctor's and judges it, off the training thread.

    At the end of an epoch every problem is asked; inside an epoch only those that are critical and
    do not look at whole epochs. At the end of the last one too, as nothing is left to save then,
    but what is not finite should not pass for a result.

    Attributes:
        end: Why the trial should end, as of the newest judgement that found a reason.
        troubles: What has failed, by part, for the training thread to report.
        seconds: Processor time that was spent.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        epochs: int | None,
        metric: str,
        maximize: bool,
        others: Callable[[], Sequence[LearningCurve]] | None = None,
        leave: Callable[[], object] = lambda: None,
    ) -> None:
        self.end: End | None = None
        self.troubles: list[tuple[str, Exception]] = []
        self.seconds = 0.0
        guard = Guard(lambda part, error: self.troubles.append((part, error)))
        self._guard, self._leave = guard, leave
        self._judge = Judge(problems, metric, maximize, guard)
        urgent = [each for each in problems if is_urgent(each)]
        self._urgent = Judge(urgent, metric, maximize, guard)
        self._history = History(Setup(epochs=epochs))
        self._others = others if any(map(needs_others, problems)) else None
        self._known: Sequence[LearningCurve] = ()  # the other trials
        self._known_at = -1  # the epoch they were asked for in
        self._inbox: SimpleQueue[Batch | None] = SimpleQueue()
        self._given = self._handled = 0
        self._changed = Condition()
        self._thread: Thread | None = None

    def hand_over(self, batch: Batch) -> None:
        """Give it something to judge."""
        if self._thread is None:
            self._thread = Thread(target=self._work, name="sickbay checker", daemon=True)
            self._thread.start()
        self._given += 1
        self._inbox.put(batch)

    def wait(self, seconds: float = PATIENCE) -> bool:
        """Wait until everything is judged; False if that takes too long."""
        with self._changed:
            return self._changed.wait_for(lambda: self._handled >= self._given, seconds)

    def close(self) -> None:
        """Let the thread end when it has judged what it was given."""
        if self._thread is not None:
            self._inbox.put(None)

    def _work(self) -> None:
        while (batch := self._inbox.get()) is not None:
            start = thread_time()
            self._guard.run("checker", self._take, batch)
            self.seconds += thread_time() - start
            with self._changed:
                self._handled += 1
                self._changed.notify_all()
        self._guard.run("end of the checker", self._leave)

    def _take(self, batch: Batch) -> None:
        history = self._history
        history.setup = batch.setup
        for vitals in batch.vitals:
            history.append(vitals)
        if self._others is not None and self._known_at < history.epoch:
            self._known_at = history.epoch
            self._known = self._guard.run("other trials", self._others) or self._known
        if batch.metrics is None:
            end = self._urgent.judge(history, self._known)
        else:
            history.end_epoch(**batch.metrics)
            over = history.epoch == history.setup.epochs
            end = (self._urgent if over else self._judge).judge(history, self._known)
        self.end = end or self.end


def is_urgent(problem: Problem) -> bool:
    """Tell whether a problem ends a trial inside an epoch.

    The others were calibrated by the ends of epochs: asked more often, they would cry wolf.
    """
    return problem.severity == "critical" and "epoch" not in problem.reads


def needs_others(problem: Problem) -> bool:
    """Tell whether a problem is judged beside the other trials."""
    return problem.yields_to_the_best or isinstance(problem, ComparedProblem)
