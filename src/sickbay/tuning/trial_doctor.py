"""The doctor of one trial of a search, whatever framework runs the search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, ClassVar
from weakref import finalize

from torch import Tensor

from sickbay.doctor.doctor import Doctor
from sickbay.doctor.loop_numbers import numbers_of
from sickbay.doctor.watch_model import Admitted
from sickbay.findings import Finding
from sickbay.problems.trials.comparison import LearningCurve
from sickbay.tuning.background_judge import Batch, Checker
from sickbay.tuning.judge import End
from sickbay.vitals import Vitals

IGNORED = (
    "the trial is done, but its loop goes on; let it run over doctor.epochs(), or leave it when "
    "doctor.done is true."
)
HELD = 256  # readings that are handed over together at the most


class TrialDoctor(Doctor):
    """Watches one trial, and ends it when its problems say so; made by `watch` of a framework.

    Readings are judged in a thread beside the training. The end of an epoch waits for its verdict,
    so that what is found there ends the trial there; what is found inside an epoch ends it at the
    next step.
    """

    ended_by: ClassVar[tuple[type[Exception], ...]] = ()  # what the framework ends a trial by

    def __init__(
        self,
        admitted: Admitted,
        metric: str,
        maximize: bool,
        others: Callable[[], Sequence[LearningCurve]] | None = None,
        leave: Callable[[], object] = lambda: None,
    ) -> None:
        model, optimizers, governor, problems, history, record = admitted
        super().__init__(model, optimizers, governor, (), history, record)
        self._metric, self._maximize = metric, maximize
        planned = history.setup.epochs
        self._checker = Checker(problems, planned, metric, maximize, others, leave)
        self._unsent: list[Vitals] = []
        self._given: Mapping[str, float] = {}  # with the newest epoch
        self._metrics: Mapping[str, float] | None = None  # the same, for the checker
        self._charged = 0.0  # seconds of the checker that were accounted for
        self._passed_epochs = 0
        self._values: list[float] = []  # of the metric, at the end of epochs
        self._end: End | None = None
        self._done = False
        # For a trial that fails: who leaves the doctor behind has no use for its thread.
        finalize(self, self._checker.close)

    @property
    def done(self) -> bool:
        """Whether the trial has been ended: the loop should stop."""
        return self._done

    @property
    def best(self) -> float | None:
        """The best value that the metric has had at the end of an epoch, None if there is none."""
        finite = [value for value in self._values if isfinite(value)]
        return (max if self._maximize else min)(finite, default=None)

    @property
    def diagnosis(self) -> Finding | None:
        """Why the trial was ended, if it was."""
        return None if self._end is None else self._end.finding

    def epochs(self) -> Iterator[int]:
        """Yield the numbers of the planned epochs until the trial is done."""
        for epoch in range(self._passed_epochs, self._history.setup.epochs or 0):
            if self._done:
                return
            yield epoch

    def step(
        self,
        loss: Tensor | float | None = None,
        *,
        outputs: Tensor | None = None,
        targets: Tensor | None = None,
        **metrics: Tensor | float,
    ) -> list[Finding]:
        """Tell the doctor that a step was made, as in `Doctor.step`; the trial may end here."""
        ended: list[Finding] = []
        if self._checker.end is not None and self._end is None:
            ended = self._shelled(self._accept)
        if ended and self._done:
            self._ended_inside()
        return ended + super().step(loss, outputs=outputs, targets=targets, **metrics)

    def epoch(self, **metrics: Tensor | float) -> list[Finding]:
        """Tell the doctor that an epoch is over, with what was evaluated; the trial may end here.

        The metric that the search is about must be among it.
        """
        self._given = self._guard.run("numbers", numbers_of, metrics, self._log.notice) or {}
        self._guard.run("best value", self._note_value, self._given)
        return self._shelled(self._end_of_epoch, self._given)

    def _end_of_epoch(self, numbers: Mapping[str, float]) -> list[Finding]:
        if self._done:
            self._log.notice(IGNORED)
        super().epoch(**numbers)
        if not self._checker.wait():
            self._log.notice("judging takes long; the loop does not wait for it.")
        self._report_troubles()
        found = self._epoch_over(numbers)
        if self._passed_epochs == self._history.setup.epochs:
            self.close()
        return found

    def close(self) -> None:
        """Take every hook away and finish the chart. What was found stays."""
        super().close()
        self._guard.run("checker", self._checker.close)

    def _shelled(self, act: Callable[..., list[Finding]], *args: Any) -> list[Finding]:
        """Return what `act` returns; of what it raises only the end of the trial goes on."""
        if "trial" in self._guard.off:
            return []
        try:
            return act(*args)
        except self.ended_by:
            raise
        except Exception as error:
            self._guard.fail("trial", error)
            return []

    def _epoch_over(self, numbers: Mapping[str, float]) -> list[Finding]:  # noqa: ARG002
        """Do what is due at the end of an epoch; return what was found."""
        if self._end is None:
            return self._accept()
        self._try_to_conclude()  # it was not possible before
        return []

    def _ended_inside(self) -> None:
        """Do what is due where the trial ends inside an epoch."""

    def _conclude(self, end: End) -> bool:
        """End the trial in the way of the framework; False if that cannot be done now."""
        raise NotImplementedError

    def _accept(self) -> list[Finding]:
        """Take the checker's word: keep what was found, and end the trial."""
        end = self._end = self._checker.end
        if end is None:
            return []
        self._log.finding(end.finding)
        self._try_to_conclude()
        return [end.finding]

    def _try_to_conclude(self) -> None:
        if self._end is not None and not self._done and self._conclude(self._end):
            self._finish()

    def _finish(self) -> None:
        self._done = True
        self.close()

    def _note_value(self, numbers: Mapping[str, float]) -> None:
        self._passed_epochs += 1
        if self._metric in numbers:
            self._values.append(numbers[self._metric])
        else:
            got = ", ".join(numbers) or "nothing"
            self._log.notice(f"epoch() should be given {self._metric}, got {got}.")

    def _report_troubles(self) -> None:
        while self._checker.troubles:
            self._log.trouble(*self._checker.troubles.pop(0))

    def _course(self) -> LearningCurve:
        """Return the trial as others see it; as the checker sees it, so that they compare."""
        return LearningCurve(self._history.epochs("loss"), self._history.epochs(self._metric))

    def _book(self, vitals: Vitals) -> None:
        super()._book(vitals)
        self._unsent.append(vitals)
        if len(self._unsent) >= HELD:
            self._judge()

    def _close_epoch(self, numbers: Mapping[str, float]) -> None:
        super()._close_epoch(numbers)
        self._metrics = numbers

    def _judge(self) -> list[Finding]:
        """Hand everything over to the checker."""
        with self._clock.timing("judging"):
            self._checker.hand_over(Batch(self._unsent, self._history.setup, self._metrics))
        self._unsent, self._metrics = [], None
        spent = self._checker.seconds
        self._clock.add("judging", spent - self._charged)
        self._charged = spent
        return []
