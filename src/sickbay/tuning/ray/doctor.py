"""The doctor of a Ray Tune trial."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite
from typing import Any

from ray import tune
from torch import Tensor

from sickbay.doctor.watch_arguments import Watched
from sickbay.findings import Finding
from sickbay.problems.trials.comparison import LearningCurve
from sickbay.tuning.judge import End
from sickbay.tuning.ray.curves_actor import CurveExchange
from sickbay.tuning.trial_doctor import TrialDoctor

ALONE = "this search has no DiagnosisStopper, so the trial was judged without the others."


class RayDoctor(TrialDoctor):
    """Watches a Ray Tune trial; made by `watch`."""

    def __init__(
        self, watched: Watched, metric: str, maximize: bool, exchange: CurveExchange
    ) -> None:
        super().__init__(watched, metric, maximize, exchange.others)
        self._exchange = exchange
        self._checkpoint: Any = None

    def epoch(self, *, checkpoint: Any = None, **metrics: Tensor | float) -> list[Finding]:
        """Tell the doctor and Tune that an epoch is over; the trial may end here.

        Args:
            checkpoint: A Ray Tune checkpoint to report with it.
            metrics: Numbers; the metric that the search optimizes must be among them.
        """
        self._checkpoint = checkpoint
        found = super().epoch(**metrics)
        self._report(self._given)
        return found

    def after_epoch(self, numbers: Mapping[str, float]) -> list[Finding]:
        found = super().after_epoch(numbers)
        last = self._passed_epochs == self._history.setup.epochs
        course, over = self.learning_curve(), last if self._end is None else self._end.benign
        told = LearningCurve(course.losses, course.values, over)
        met = self._guard.run("telling other trials", self._exchange.put, told)
        if last and met is False:
            self._log.notice(ALONE)
        return found

    def ended_in_epoch(self) -> None:
        worst = -inf if self._maximize else inf
        finite = (value for value in reversed(self._values) if isfinite(value))
        self._report({self._metric: next(finite, worst)})

    def end_trial(self, end: End) -> bool:  # noqa: ARG002 - the next report tells it
        return True

    def _report(self, numbers: Mapping[str, float]) -> None:
        """Report to Tune, which may end the trial immediately."""
        told = {"sickbay_diagnosis": "", "sickbay_message": "", "sickbay_benign": False}
        if self._end is not None:
            finding = self._end.finding
            told |= {"sickbay_diagnosis": finding.problem, "sickbay_message": str(finding)}
            told |= {"sickbay_benign": self._end.benign}
        checkpoint, self._checkpoint = self._checkpoint, None
        tune.report({**numbers, **told}, checkpoint=checkpoint)
