"""Runs in the user's own training loop. It starts again with each recipe and stops at findings."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from math import inf, isnan
from typing import Any, TypeAlias

from torch import Tensor, nn

from sickbay.arguments import short_repr
from sickbay.errors import Diagnosed, SickbayError, UsageError
from sickbay.findings import Finding
from sickbay.isolated_random import IsolatedRandom
from sickbay.printable import error_message
from sickbay.recipe import Recipe
from sickbay.repairs.executor import OnEpoch
from sickbay.repairs.recipe_hooks import RecipeHooks
from sickbay.repairs.run import Progress, Run, Update, Weights
from sickbay.repairs.run_settings import RunSettings
from sickbay.repairs.scoring import key
from sickbay.repairs.training_loop import (
    SETBACK,
    checks_for,
    doctor_for,
    live_copy,
    plateau_scheduler,
)

RECENT = 20  # steps whose mean loss replaces a score
Train: TypeAlias = Callable[[Recipe, Any], object]


class Completed(SickbayError):  # noqa: N818 - no error: the target is reached, or all epochs done
    """There is nothing more to train."""


class LoopDoctor:
    """The doctor that the user's loop gets. It keeps the best weights and stops the loop.

    The loop calls it like any doctor: `step` after each step, `epoch` after each epoch.
    """

    def __init__(
        self,
        live: Recipe,
        settings: RunSettings,
        chart: str | None,
        stop_at_findings: bool,
        on_epoch: Callable[[Update], bool | None],
    ) -> None:
        self._live, self._settings = live, settings
        self._stop_at_findings, self._on_epoch = stop_at_findings, on_epoch
        self._checks = checks_for(settings)
        self.doctor = doctor_for(live, settings, chart, self._checks)
        self._scheduler = plateau_scheduler(live)
        self.scores: list[dict[str, float]] = []
        self.best_score, self.calls = -inf, 0
        self.finding: Finding | None = None  # the one that stops the loop
        self.stopped = False  # by a callback
        self.callback_error: Exception | None = None
        self.best = self.healthy = copy.deepcopy(live.model.state_dict())

    def step(self, loss: Tensor | float | None = None, **metrics: Any) -> list[Finding]:
        """Record a step. Raise `Diagnosed` if there is a remedy for what is found."""
        self.calls += 1
        return self._check(self.doctor.step(loss, **metrics))

    def epoch(self, **metrics: Any) -> list[Finding]:
        """Record an epoch with its metrics."""
        findings = self.doctor.epoch(**metrics)
        scores = {name: float(value) for name, value in metrics.items()}
        self.scores.append(scores)
        weights = copy.deepcopy(self._live.model.state_dict())
        score = self.score(scores)
        if self._scheduler is not None:
            self._scheduler.step(score)
        if score > self.best_score:
            self.best_score, self.best = score, weights
        epochs = len(self.scores)
        progress = Progress(epochs=epochs, score=self.best_score, scores=list(self.scores))
        self._report(Update(progress, self.best, score=score))
        found = findings if self._checks is None else self._checks.found
        self._check(found, score >= self.best_score - SETBACK)
        self.healthy = weights
        reached = self._settings.reached(self.best_score)
        if self.stopped or reached or epochs >= self._settings.epochs_of(self._live):
            raise Completed("all epochs are done")
        return findings

    def _report(self, update: Update) -> None:
        """Report an epoch. Keep an error of a callback, which is no fault of the recipe."""
        try:
            self.stopped = bool(self._on_epoch(update))
        except Exception as error:
            self.callback_error = error
            raise

    def score(self, scores: dict[str, float]) -> float:
        """Return the score of some metrics: the accuracy or minus the loss if nothing else."""
        if (metric := self._settings.metric) is not None:
            name = str(metric)
            if name not in scores:
                raise UsageError(
                    f"metric must be one that train passes to doctor.epoch, got {name!r}. "
                    f"Possible: {str(list(scores))[1:-1]}."
                )
            return -inf if isnan(scores[name]) else scores[name]
        if (score := key(scores)) > -inf:
            return score
        losses = self.doctor.history.recent("loss", RECENT) or [inf]
        score = scores.get("accuracy", -sum(losses) / len(losses))
        return -inf if isnan(score) else score

    def _check(self, findings: list[Finding], near_best: bool = False) -> list[Finding]:
        stopping = [each for each in findings if self._settings.stops(each, near_best)]
        if stopping and self._stop_at_findings:
            self.finding = self.finding or stopping[0]
            raise Diagnosed(stopping)
        return findings


class UserLoopExecutor:
    """Trains runs in the user's loop. It cannot be paused, so only one remedy runs at a time."""

    pausable = False

    def __init__(self, train: Train, settings: RunSettings) -> None:
        self._train, self._settings = train, settings
        self._waiting: dict[Run, tuple[Weights | None, str | None]] = {}

    def start(self, run: Run, weights: Weights | None, chart: str | None) -> None:
        self._waiting[run] = weights, chart

    def advance(
        self, runs: Sequence[Run], epochs: int, stop_at_findings: bool, on_epoch: OnEpoch
    ) -> None:
        del epochs  # it trains all its epochs at once
        for run in runs:
            if run in self._waiting:
                run.take(self._run(run, stop_at_findings, partial(on_epoch, run)))

    def close(self, run: Run) -> None:
        self._waiting.pop(run, None)

    def _run(
        self, run: Run, stop_at_findings: bool, on_epoch: Callable[[Update], bool | None]
    ) -> Update:
        weights, chart = self._waiting.pop(run)
        settings = replace(self._settings.of(run), trained=weights is not None)
        live = live_copy(run.recipe, settings, weights)
        watching = LoopDoctor(live, settings, chart, stop_at_findings, on_epoch)
        doctor, hooks = watching.doctor, RecipeHooks(live)
        failed = ""
        try:
            with IsolatedRandom(self._settings.seed):
                self._train(live, watching)
        except (Diagnosed, Completed):
            pass
        except Exception as error:
            # The loop fails as given, or a callback does: that is no fault of a remedy.
            if not run.recipe.code or error is watching.callback_error:
                raise
            failed = error_message(error)
        finally:
            hooks.close()
            example = doctor.example
            doctor.close()
        finding = watching.finding
        if doctor.history.step < 0 and not failed:
            raise UsageError(
                "train must train recipe.model with recipe.optimizer and call doctor.step after "
                f"each step; it was called {watching.calls} times, and the optimizer made no step."
            )
        no_epochs = not watching.scores and self._settings.metric is None
        if no_epochs and finding is None:  # without epochs, the loss is the score
            watching.best_score = watching.score({})
        if not watching.scores and watching.best_score > -inf:
            watching.best = copy.deepcopy(live.model.state_dict())
        progress = Progress(
            epochs=len(watching.scores) or (1.0 if finding is None else 0.0),
            score=watching.best_score,
            scores=watching.scores,
            finding=finding,
            findings=list(doctor.findings),
            setup=doctor.history.setup,
            example=example,
            failed=failed,
            stopped=watching.stopped,
        )
        return Update(progress, watching.best, watching.healthy, over=True)


def check_train(train: Any, **unused: object) -> None:
    """Raise `UsageError` unless `train` is a loop and nothing is given that it brings itself."""
    valid = not isinstance(train, type | nn.Module)
    try:
        signature(train).bind(None, None)
    except TypeError:  # also if it is not callable
        valid = False
    except ValueError:  # some functions written in C have no signature
        pass
    if not valid:
        raise UsageError(
            f"train must be a function of a recipe and a doctor, got {short_repr(train)}."
        )
    if given := [name for name, value in unused.items() if value is not None]:
        raise UsageError(
            f"train= is a loop of your own with its own data, in this process: it cannot have "
            f"{' and '.join(given)} as well. Leave that out, or leave out train=."
        )
