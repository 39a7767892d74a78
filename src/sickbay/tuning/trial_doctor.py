"""The doctor of one trial of a search, whatever framework runs the search."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, ClassVar
from weakref import finalize

from torch import Tensor, nn

from sickbay import arguments
from sickbay.doctor.doctor import Doctor
from sickbay.doctor.intake import as_numbers
from sickbay.doctor.run_log import OnFinding
from sickbay.doctor.watch_arguments import Chart, Watched, prepare_watched
from sickbay.findings import Finding
from sickbay.problems import Problem
from sickbay.problems.trials.comparison import LearningCurve
from sickbay.tuning.background_judge import BackgroundJudge
from sickbay.tuning.charted_trials import note
from sickbay.tuning.judge import End, own_curve

IGNORED = (
    "the trial is done, but its loop goes on; let it run over doctor.epochs(), or leave it when "
    "doctor.done is true."
)


class TrialDoctor(Doctor):
    """Watches one trial, and ends it when a problem says so; made by the `watch` of a framework.

    A thread judges the readings beside the training. The end of an epoch waits for its verdict, so
    that a problem found there ends the trial there. A problem found inside an epoch ends the trial
    at the next step.

    A framework implements `end_trial`, and `after_epoch` and `ended_in_epoch` if it needs them.
    """

    ended_by: ClassVar[tuple[type[Exception], ...]] = ()  # exceptions by which the framework ends

    def __init__(
        self,
        watched: Watched,
        metric: str,
        maximize: bool,
        others: Callable[[], Sequence[LearningCurve]] | None = None,
        leave: Callable[[], object] | None = None,
    ) -> None:
        judge = BackgroundJudge(
            watched.problems, watched.history, metric, maximize, others, leave,
            watched.governor.clock,
        )  # fmt: skip
        super().__init__(watched, judge)
        self._background = judge
        self._metric, self._maximize = metric, maximize
        self._given: Mapping[str, float] = {}  # passed with the newest epoch
        self._passed_epochs = 0
        self._values: list[float] = []  # of the metric, at the end of epochs
        self._end: End | None = None
        self._done = False
        # If the trial fails, nobody closes its doctor, but the thread should end.
        finalize(self, judge.close)

    @property
    def done(self) -> bool:
        """Whether the trial has ended: the loop should stop."""
        return self._done

    @property
    def best(self) -> float | None:
        """The best value of the metric at the end of an epoch, None if there is none."""
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
        if self._background.end is not None and self._end is None:
            ended = self._guarded(self._accept)
        if ended and self._done:
            self.ended_in_epoch()
        return ended + super().step(loss, outputs=outputs, targets=targets, **metrics)

    def epoch(self, **metrics: Tensor | float) -> list[Finding]:
        """Tell the doctor that an epoch is over, with its metrics; the trial may end here.

        The metric that the search optimizes must be among them.
        """
        self._given = self._guard.run("numbers", as_numbers, metrics, self._log.notice) or {}
        self._guard.run("best value", self._note_value, self._given)
        return self._guarded(self._end_trial_epoch, self._given)

    def close(self) -> None:
        """Remove every hook and finish the chart. The findings stay."""
        super().close()
        self._guard.run("judge", self._background.close)

    def end_trial(self, end: End) -> bool:
        """End the trial in the framework; return False if that is not possible now."""
        raise NotImplementedError

    def after_epoch(self, numbers: Mapping[str, float]) -> list[Finding]:  # noqa: ARG002
        """Act on the verdict at the end of an epoch; return what was found."""
        if self._end is None:
            return self._accept()
        self._try_to_end()  # it was not possible before
        return []

    def ended_in_epoch(self) -> None:
        """Tell the framework that the trial ended inside an epoch."""

    def learning_curve(self) -> LearningCurve:
        """Return the trial as others see it: by the same values as its judge, to be comparable."""
        return own_curve(self._history, self._metric)

    def finish(self) -> None:
        """Mark the trial as done, and close the doctor."""
        self._done = True
        self.close()

    def _end_trial_epoch(self, numbers: Mapping[str, float]) -> list[Finding]:
        if self._done:
            self._log.notice(IGNORED)
        super().epoch(**numbers)
        if not self._background.wait():
            self._log.notice("judging takes long; the loop does not wait for it.")
        while self._background.troubles:
            self._log.trouble(*self._background.troubles.pop(0))
        found = self.after_epoch(numbers)
        if self._passed_epochs == self._history.setup.epochs:
            self.close()
        return found

    def _guarded(self, act: Callable[..., list[Finding]], *args: Any) -> list[Finding]:
        """Return what `act` returns. Of its exceptions, only those that end the trial go on."""
        if "trial" in self._guard.off:
            return []
        try:
            return act(*args)
        except self.ended_by:
            raise
        except Exception as error:
            self._guard.fail("trial", error)
            return []

    def _accept(self) -> list[Finding]:
        """Accept the judge's verdict: keep its finding, and end the trial."""
        end = self._end = self._background.end
        if end is None:
            return []
        kept = self._log.finding(end.finding)
        self._end = replace(end, finding=kept)
        self._try_to_end()
        return [kept]

    def _try_to_end(self) -> None:
        if self._end is not None and not self._done and self.end_trial(self._end):
            self.finish()

    def _note_value(self, numbers: Mapping[str, float]) -> None:
        self._passed_epochs += 1
        if self._metric in numbers:
            self._values.append(numbers[self._metric])
        else:
            got = ", ".join(numbers) or "nothing"
            self._log.notice(f"epoch() should be given {self._metric}, got {got}.")


def check_metric(metric: object) -> None:
    """Raise `UsageError` unless `metric` can be a keyword argument of `epoch`."""
    if not isinstance(metric, str) or not metric.isidentifier():
        raise arguments.bad_argument("metric", "a keyword of epoch(), as in 'val_loss'", metric)


def print_nothing(_: Finding) -> None:
    """Leave it to the framework to say that a trial was ended, and why."""


def prepare_trial(
    model: nn.Module,
    optimizer: object,
    problems: tuple[Problem, ...],
    *,
    name: object,
    metric: str,
    maximize: bool,
    chart: Chart,
    on_finding: OnFinding = print_nothing,
    params: dict[str, Any] | None = None,
    **options: Any,
) -> Watched:
    """Check the arguments and return the trial to watch; raise `UsageError` if one is wrong.

    Its chart goes into a folder of its own inside `chart`, with a note of the metric.
    """
    folder = None if chart is None else arguments.check_path("chart", chart) / f"trial-{name}"
    # Trials are many and short, and are judged at the end of epochs: there is no hurry to read.
    watched = prepare_watched(
        model, optimizer, problems, chart=folder, on_finding=on_finding, eager=False, **options
    )
    if (path := watched.log.path) is not None:
        direction = "maximize" if maximize else "minimize"
        about = {} if params is None else {"params": params}
        watched.log.guard.run("note", note, path, metric, direction, **about)
    return watched
