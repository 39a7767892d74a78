"""The training loop of a run. It is watched by a doctor and stops at findings."""

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil

import torch
from torch import Tensor, nn

from sickbay.doctor import Doctor
from sickbay.doctor.causes import Causes
from sickbay.doctor.watch_arguments import prepare_watched
from sickbay.findings import Finding
from sickbay.isolated_random import IsolatedRandom
from sickbay.printable import error_message
from sickbay.problems import ImproperInitialisation, Problem, UnnormalisedInput
from sickbay.recipe import Recipe
from sickbay.remedies import Fitted
from sickbay.repairs.data import Data
from sickbay.repairs.epoch_checks import EpochChecks
from sickbay.repairs.going_on import falling, is_rising, is_short
from sickbay.repairs.probed_loss import probed
from sickbay.repairs.rate_schedule import RateSchedule
from sickbay.repairs.recipe_hooks import RecipeHooks
from sickbay.repairs.run import Progress, Update, Weights
from sickbay.repairs.run_files import fits
from sickbay.repairs.run_settings import RunSettings
from sickbay.repairs.scoring import comparable, doubt, evaluate, key
from sickbay.repairs.training_accuracy import TrainingAccuracy

ALL_READ, THEN_EVERY = 20, 10  # the first steps are all read, then every tenth
SETBACK = 0.05  # a run whose score is this far below its best tolerates no problem
COOLDOWN_FACTOR = 0.1  # of the learning rate


class TrainingLoop:
    """Trains a copy of a recipe epoch by epoch.

    It starts from the weights in `start` if they fit the model.
    """

    def __init__(
        self,
        recipe: Recipe,
        data: Data,
        settings: RunSettings,
        start: Weights | None = None,
        chart: str | os.PathLike[str] | None = None,
    ) -> None:
        self.recipe, self.settings = recipe, replace(settings, trained=start is not None)
        self.live = live_copy(recipe, settings, start)
        self.data = data.without_bad_samples() if recipe.clean_data else data
        self._chart = chart
        self._planned = settings.epochs_of(recipe)
        self._epochs = self._planned + recipe.cooldown
        self._epoch, self._fraction = 0, 0.0
        self._start: dict[str, float] = {}
        self._scores: list[dict[str, float]] = []
        self._finding: Finding | None = None
        self._falling: list[Finding] = []  # at the end of the planned epochs
        self._failed = ""
        self._error: Exception | None = None
        self.best_score = self._peak = -torch.inf
        self.best = copy.deepcopy(self.live.model.state_dict())
        self.healthy = self.best  # the weights after the last epoch without a finding
        self._hooks = RecipeHooks(self.live)
        self._doctor: Doctor | None = None
        self._checks = checks_for(settings, self.data.steps(recipe.batch_size))
        self._accuracy = TrainingAccuracy(self.live.loss, self.data.targets)
        self._random = IsolatedRandom(settings.seed)
        self._scheduler = plateau_scheduler(self.live)
        self._schedule = RateSchedule(self.live)

    @property
    def over(self) -> bool:
        """Whether there is nothing more to train."""
        stopped = self._finding is not None or bool(self._failed)
        return stopped or self.settings.reached(self._peak) or self._epoch >= self._epochs

    def advance(self, epochs: int, stop_at_findings: bool = True) -> Progress:
        """Train up to so many more epochs."""
        end = min(self._epoch + epochs, self._epochs)
        if not stop_at_findings:
            self._finding = None
        with torch.enable_grad(), self._random:
            while self._epoch < end and not self.over:
                try:
                    self._train_epoch(stop_at_findings)
                except Exception as error:  # the other runs go on
                    self._failed, self._error = error_message(error), error
        return self.progress()

    def update(self, stop_at_findings: bool = True) -> Update:
        """Train one more epoch and return what it changed."""
        progress = self.advance(1, stop_at_findings)
        score = key(self._scores[-1]) if self._scores else -torch.inf
        return Update(progress, self.best, self.healthy, self.over, score)

    def progress(self) -> Progress:
        """Return how far it has come."""
        doctor = self._doctor
        return Progress(
            epochs=self._epoch + self._fraction,
            score=self.best_score,
            start=self._start,
            scores=list(self._scores),
            finding=self._finding,
            findings=self._found(),
            setup=doctor.history.setup if doctor else self.recipe.setup,
            failed=self._failed,
            error=self._error,
        )

    def _found(self) -> list[Finding]:
        """Return the findings so far. A lower rate hides that the loss could have fallen on."""
        found = list(self._doctor.findings) if self._doctor else []
        known = {each.problem for each in found}
        return found + [each for each in self._falling if each.problem not in known]

    def close(self) -> None:
        """Remove all hooks and close the chart."""
        self._hooks.close()
        if self._doctor is not None:
            self._doctor.close()

    def _train_epoch(self, stop_at_findings: bool) -> None:
        if self._doctor is None:
            self._start = self._evaluate()
            self._doctor = doctor_for(self.live, self.settings, self._chart, self._checks)
            history = self._doctor.history
            history.setup = probed(self.live, self.data, history.setup)
        doctor = self._doctor
        if self.recipe.cooldown and self._epoch == self._planned:
            for group in self.live.optimizer.param_groups:
                group["lr"] *= COOLDOWN_FACTOR
            self._schedule.stop()
            score = self.best_score
            if is_short(self.settings.yardstick, score) and is_rising(self._scores):
                self._falling = falling(doctor.history, self.settings.problems)
        model = self.live.model
        model.train()
        size = self.recipe.batch_size
        steps = max(1, ceil((self.data.size or 0) / size))
        for step, (inputs, targets) in enumerate(self.data.batches(size, self._epoch)):
            findings = self._step(doctor, inputs, targets)
            self._fraction = min((step + 1) / steps, 1.0)
            if stop_at_findings and self._stops(findings):
                return
        self._fraction = 0.0
        self._epoch += 1
        scores = self._evaluate()
        trained = self._accuracy.end_epoch()
        self._scores.append(scores | trained)
        self._keep_best(scores)
        if self._scheduler is not None:
            self._scheduler.step(-scores["val_loss"])
        self._schedule.end_epoch(scores)
        if self._checks is None:  # problems of steps go by the validation accuracy
            findings = doctor.epoch(**scores)
            if self._epoch >= self._epochs:
                findings += doctor.end()
        else:
            doctor.epoch(**scores, **trained)
            findings = self._checks.found
        if not (stop_at_findings and self._stops(findings)):
            self.healthy = copy.deepcopy(model.state_dict())

    def _evaluate(self) -> dict[str, float]:
        return evaluate(self.live.model, self.live.loss, self.data, self.settings.metric)

    def _step(self, doctor: Doctor, inputs: tuple[Tensor, ...], targets: Tensor) -> list[Finding]:
        live = self.live
        live.optimizer.zero_grad()
        outputs = live.model(*inputs)
        loss = live.loss(outputs, targets)
        if loss.requires_grad or not doctor.history.setup.ignores_outputs:
            loss.backward()  # type: ignore[no-untyped-call]
        live.optimizer.step()
        self._schedule.end_batch()
        if isinstance(outputs, Tensor):
            self._accuracy.add(inputs, outputs, targets)
        if not isinstance(outputs, Tensor) or not comparable(outputs, targets):
            return doctor.step(loss)  # it looks for what the loss compares itself
        compared = outputs, targets
        if isinstance(live.loss, Fitted):
            compared = live.loss.compared(outputs, targets)
        return doctor.step(loss, outputs=compared[0], targets=compared[1])

    def _stops(self, findings: Sequence[Finding]) -> bool:
        """Note the first treatable finding, and tell whether there is one."""
        near_best = bool(self._scores) and key(self._scores[-1]) >= self.best_score - SETBACK
        stopping = (each for each in findings if self.settings.stops(each, near_best))
        self._finding = next(stopping, None)
        return self._finding is not None

    def _keep_best(self, scores: Mapping[str, float]) -> None:
        """Keep the weights of the best epoch, or the last one that is as good within chance."""
        score = key(scores)
        if score >= self._peak - doubt(scores, self.data.validation.size):
            self._peak = max(self._peak, score)
            self.best_score = score
            self.best = copy.deepcopy(self.live.model.state_dict())


def is_read(step: int) -> bool:
    """Return whether a step is read. These are always the same, so runs can be repeated."""
    return step < ALL_READ or step % THEN_EVERY == 0


def checks_for(settings: RunSettings, steps: int | None = None) -> EpochChecks | None:
    """Return the checks of a run with so many steps in an epoch, None if every step is judged."""
    every = settings.check_every
    return None if every is None else EpochChecks(settings.problems, every, steps)


def doctor_for(
    live: Recipe,
    settings: RunSettings,
    chart: str | os.PathLike[str] | None,
    checks: EpochChecks | None = None,
) -> Doctor:
    """Watch a recipe in training."""
    watched = prepare_watched(
        live.model,
        live.optimizer,
        problems_of(live, settings),
        every=is_read if checks is None else checks.reads,
        budget=0.01,
        epochs=settings.epochs_of(live),
        chart=chart,
        on_finding="silent",
        activations=True,
    )
    held = settings.yardstick
    watched.history.setup = replace(
        watched.history.setup,
        constant=held.constant,
        reference=None if held.exact else held.reference,
        held_out=held.samples,
    )
    guard = watched.log.guard
    if checks is None:
        return Doctor(watched, Causes(watched.problems, guard))
    checks.listen(guard)
    return Doctor(watched, checks)


def problems_of(live: Recipe, settings: RunSettings) -> Sequence[Problem]:
    """Return the problems to look for.

    What standardises its inputs may be given raw ones, and trained weights are not initial ones.
    """
    raw = (UnnormalisedInput,) if live.clean_data else ()
    left_out = (*raw, ImproperInitialisation) if settings.trained else raw
    return [each for each in settings.problems if not isinstance(each, left_out)]


def plateau_scheduler(recipe: Recipe) -> torch.optim.lr_scheduler.ReduceLROnPlateau | None:
    """Return what halves the learning rate when the score stops rising, if the recipe asks."""
    if not recipe.patience:
        return None
    return torch.optim.lr_scheduler.ReduceLROnPlateau(
        recipe.optimizer, "max", factor=0.5, patience=recipe.patience, threshold_mode="abs"
    )


def live_copy(recipe: Recipe, settings: RunSettings, start: Weights | None) -> Recipe:
    """Return a copy to train, on its device and with the weights in `start` if they fit."""
    live = recipe.copy()
    if start is not None and fits(live.model.state_dict(), start):
        live.model.load_state_dict(start)
    for part in (live.model, live.loss):
        if isinstance(part, nn.Module):
            part.to(settings.device)
    return live
