"""Judge a trial beside its training, in a thread of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Condition, Thread
from time import thread_time

from sickbay.doctor.judge_protocol import Verdict
from sickbay.history import History
from sickbay.probe.cost_clock import Clock
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from sickbay.problems.trials.comparison import ComparedProblem, Comparison, LearningCurve
from sickbay.tuning.judge import End, Protection, find_end, own_curve
from sickbay.vitals import Setup, Vitals

PATIENCE = 10.0  # most seconds that the end of an epoch waits for its verdict
MOST = 256  # readings that are sent together


@dataclass(frozen=True)
class Readings:
    """Readings in order, and the metrics of the epoch that ends with them, if one does."""

    vitals: Sequence[Vitals]
    setup: Setup
    metrics: Mapping[str, float] | None = None


class BackgroundJudge:
    """Judges a trial in a thread of its own, by a history like the doctor's. Implements `Judging`.

    At the end of an epoch it checks every problem. Inside an epoch, and at the end of the last one
    (when stopping would save nothing), it checks only critical problems that do not read epochs.

    Attributes:
        end: Why the trial should end, by the newest judgement that found a reason.
        troubles: Parts that failed, for the training thread to report.
        seconds: Processor time spent so far.
    """

    standing = ()

    def __init__(
        self,
        problems: Sequence[Problem],
        history: History,
        metric: str,
        maximize: bool,
        others: Callable[[], Sequence[LearningCurve]] | None = None,
        leave: Callable[[], object] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.end: End | None = None
        self.troubles: list[tuple[str, Exception]] = []
        self.seconds = self._charged = 0.0
        guard = Guard(lambda part, error: self.troubles.append((part, error)))
        self._guard, self._leave, self._clock = guard, leave, clock or Clock()
        self._metric, self._maximize = metric, maximize
        self._problems = problems
        # The others are calibrated for the ends of epochs. Checked more often, they would be wrong.
        self._urgent: Sequence[Problem] = [
            each for each in problems if each.severity == "critical" and "epoch" not in each.reads
        ]
        self._watched = history  # the doctor's
        self._history = History(Setup(epochs=history.setup.epochs))
        compares = any(
            each.yields_to_the_best or isinstance(each, ComparedProblem) for each in problems
        )
        self._others = others if compares else None
        self._protection = Protection(problems)
        self._known: Sequence[LearningCurve] = ()  # the other trials
        self._known_at = -1  # the epoch they were asked for in
        self._unsent: list[Vitals] = []
        self._metrics: Mapping[str, float] | None = None  # of the epoch that ends
        self._inbox: SimpleQueue[Readings | None] = SimpleQueue()
        self._sent = self._handled = 0
        self._changed = Condition()
        self._thread: Thread | None = None

    def add(self, vitals: Vitals) -> None:
        """Keep a reading for the next judgement."""
        self._unsent.append(vitals)
        if len(self._unsent) >= MOST:
            self._send_all()

    def end_epoch(self, metrics: Mapping[str, float]) -> None:
        """Let the next judgement be that of an epoch."""
        self._metrics = metrics

    def judge(self, history: History) -> Verdict:  # noqa: ARG002 - it has one of its own
        """Send all readings to the thread. `end` tells the verdict later."""
        self._send_all()
        self._clock.add_elsewhere("judging", self.seconds - self._charged)
        self._charged = self.seconds
        return Verdict()

    def send(self, readings: Readings) -> None:
        """Send readings to the thread, which judges them."""
        if self._thread is None:
            self._thread = Thread(target=self._work, name="sickbay judge", daemon=True)
            self._thread.start()
        self._sent += 1
        self._inbox.put(readings)

    def wait(self, seconds: float = PATIENCE) -> bool:
        """Wait until everything is judged; return False if that takes too long."""
        with self._changed:
            return self._changed.wait_for(lambda: self._handled >= self._sent, seconds)

    def close(self) -> None:
        """Let the thread end once it has judged everything."""
        if self._thread is not None:
            self._inbox.put(None)

    def _send_all(self) -> None:
        self.send(Readings(self._unsent, self._watched.setup, self._metrics))
        self._unsent, self._metrics = [], None

    def _work(self) -> None:
        while (readings := self._inbox.get()) is not None:
            start = thread_time()
            self._guard.run("judge", self._take, readings)
            self.seconds += thread_time() - start
            with self._changed:
                self._handled += 1
                self._changed.notify_all()
        if self._leave is not None:
            self._guard.run("end of the judge", self._leave)

    def _take(self, readings: Readings) -> None:
        history = self._history
        history.setup = readings.setup
        for vitals in readings.vitals:
            history.append(vitals)
        if self._others is not None and self._known_at < history.epoch:
            self._known_at = history.epoch
            self._known = self._guard.run("other trials", self._others) or self._known
        asked = self._urgent
        if readings.metrics is not None:
            history.end_epoch(**readings.metrics)
            asked = asked if history.epoch == history.setup.epochs else self._problems
        beside = Comparison(own_curve(history, self._metric), self._known, self._maximize)
        if readings.metrics is not None:
            self._protection.end_epoch(beside)
        protected = self._protection.was_among_best
        self.end = find_end(asked, history, beside, self._guard, protected) or self.end
