"""`watch` for Ray Tune, which checks its arguments, and the doctor of a trial that it returns."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite
from typing import Any

from ray import tune
from torch import Tensor, nn
from torch.optim import Optimizer

from sickbay.arguments import check_choice, check_int
from sickbay.doctor.governor import Every
from sickbay.doctor.watch_arguments import Chart, Watched
from sickbay.errors import UsageError
from sickbay.findings import Finding
from sickbay.problems import Problem
from sickbay.problems.profiles import choose
from sickbay.tuning.judge import End
from sickbay.tuning.ray.stopper import CurveExchange
from sickbay.tuning.recorded_search import DEFAULT_METRIC
from sickbay.tuning.trial_doctor import TrialDoctor, check_metric, prepare_trial

ALONE = "this search has no DiagnosisStopper, so the trial was judged without the others."


def watch(
    model: nn.Module,
    optimizer: Optimizer | Sequence[Optimizer] | None = None,
    *,
    epochs: int,
    mode: str,
    metric: str = DEFAULT_METRIC,
    profile: str = "tuning",
    problems: Sequence[str | Problem] | None = None,
    chart: Chart = None,
    every: Every = "auto",
    budget: float = 0.01,
    activations: bool = True,
) -> RayDoctor:
    """Watch a trial of Ray Tune from inside its trainable, and end it if something is wrong.

    Pass `DiagnosisStopper` to the search as well, so that trials can be compared with each other.

    Args:
        model: The model, as in `sickbay.watch`.
        optimizer: Its optimizer, or several.
        epochs: The number of epochs planned.
        mode: "max" or "min": which values of the metric are better.
        metric: The metric of the search, as it is passed to `epoch`.
        profile: The problems that end a trial: "tuning", "bttackler" (the rules of the code
            published with that paper) or "bttackler_paper" (those of the paper).
        problems: Your own list instead: names, or problems with your own thresholds.
        chart: A folder to record trials in, each in its own subfolder. Use an absolute path,
            because Tune changes the working directory of each trial.
        every: How often to read statistics, as in `sickbay.watch`.
        budget: The fraction of the loop's time that watching may take.
        activations: Whether to read the outputs of layers.

    Returns:
        The doctor. Its `epoch` reports to Tune. Once the trial has ended, `done` is true.

    Raises:
        UsageError: If an argument is wrong. Nothing has been changed then.
    """
    epochs = check_int("epochs", epochs, least=1)
    check_metric(metric)
    check_choice("mode", mode, ("max", "min"))
    trial, maximize = trial_id(), mode == "max"
    watched = prepare_trial(
        model,
        optimizer,
        choose(profile, problems),
        name=trial,
        metric=metric,
        maximize=maximize,
        chart=chart,
        every=every,
        budget=budget,
        epochs=epochs,
        activations=activations,
    )
    return RayDoctor(watched, metric, maximize, CurveExchange(trial))


def trial_id() -> str:
    """Return the id of the current trial. Raise `UsageError` outside of one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: str | None = tune.get_context().get_trial_id()
    if found is None:
        raise UsageError("watch must be called inside a trainable that Ray Tune runs.")
    return found


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
        over = last if self._end is None else self._end.benign
        curve = replace(self.learning_curve(), over=over)
        met = self._guard.run("telling other trials", self._exchange.put, curve)
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
        result = {"sickbay_diagnosis": "", "sickbay_message": "", "sickbay_benign": False}
        if self._end is not None:
            finding = self._end.finding
            result |= {"sickbay_diagnosis": finding.problem, "sickbay_message": str(finding)}
            result |= {"sickbay_benign": self._end.benign}
        checkpoint, self._checkpoint = self._checkpoint, None
        tune.report({**numbers, **result}, checkpoint=checkpoint)
