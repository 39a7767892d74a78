"""One attempt: a recipe, trained epoch by epoch, watched, and stopped where something is wrong."""

from __future__ import annotations

import copy
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import torch
from torch import Tensor, nn

from sickbay.doctor import Doctor, watch
from sickbay.findings import Finding
from sickbay.isolated_random import IsolatedRandom
from sickbay.printable import error_message
from sickbay.problems import Problem
from sickbay.recipe import Loss, Recipe
from sickbay.regimen import Regimen
from sickbay.remedies import Fitted
from sickbay.repairs.attempt_files import fits
from sickbay.repairs.data import Data
from sickbay.repairs.report import Report
from sickbay.repairs.scoring import doubt, evaluate, key

CLOSELY, THEN = 20, 10  # steps that are all read, and how many then make up one that is
SETBACK = 0.05  # below its best score, an attempt tolerates no problem any more
COOL = 0.1  # times the learning rate, in the epochs of the cooldown


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What holds for every attempt of a repair."""

    problems: Sequence[Problem]
    treatable: Collection[str]  # the problems that end an attempt
    epochs: int
    target: float | None = None
    device: str = "cpu"
    seed: int = 0
    check_every: int | None = None  # epochs between two looks; None: look at every step

    def met(self, score: float) -> bool:
        """Tell whether a score is as good as was asked for."""
        return self.target is not None and score >= self.target

    def ends(self, finding: Finding, at_its_best: bool) -> bool:
        """Tell whether a finding ends an attempt, whose score may be at its best."""
        tolerated = {each.name() for each in self.problems if each.tolerated_at_best}
        if at_its_best and finding.problem in tolerated:
            return False
        return finding.problem in self.treatable


class Training:
    """A recipe in training. It has copies of its own; it begins with `start`, where that fits."""

    def __init__(
        self,
        recipe: Recipe,
        data: Data,
        terms: Terms,
        start: dict[str, Tensor] | None = None,
        chart: str | os.PathLike[str] | None = None,
    ) -> None:
        self.recipe, self.terms = recipe, terms
        self.live = recipe.copy()
        begin_with(self.live.model, start)
        placed(self.live, terms.device)
        self.data = data.without_bad_samples() if recipe.clean_data else data
        self._chart = chart
        self._epochs = terms.epochs + recipe.cooldown
        self._epoch, self._part = 0, 0.0
        self._start: dict[str, float] = {}
        self._scores: list[dict[str, float]] = []
        self._heard: list[Finding] = []  # findings that there is a remedy for
        self._finding: Finding | None = None
        self._failed = ""
        self._error: Exception | None = None
        self.best_score = self._peak = -torch.inf
        self.best = copy.deepcopy(self.live.model.state_dict())
        self.healthy = self.best  # the weights after the last epoch without a finding
        self._regimen = Regimen(self.live)
        self._doctor: Doctor | None = None
        self._chance = IsolatedRandom(terms.seed)
        self._lowering = lowering(self.live) if recipe.patience else None

    @property
    def over(self) -> bool:
        """Whether there is nothing more to train."""
        stopped = self._finding is not None or bool(self._failed)
        return stopped or self.terms.met(self._peak) or self._epoch >= self._epochs

    def advance(self, epochs: int, heed: bool = True) -> Report:
        """Train some more epochs, and stop at a finding unless it is not to be heeded."""
        end = min(self._epoch + epochs, self._epochs)
        if not heed:
            self._finding = None
            self._heard.clear()
        with torch.enable_grad(), self._chance:
            while self._epoch < end and not self.over:
                try:
                    self._one_epoch(heed)
                except Exception as error:  # one attempt must not end the others
                    self._failed, self._error = error_message(error), error
        return self.report()

    def each_epoch(self, epochs: int, heed: bool = True) -> Iterator[Report]:
        """Train some more epochs, and yield where it stands after each."""
        for _ in range(epochs):
            yield self.advance(1, heed)
            if self.over:
                return

    def report(self) -> Report:
        """Return where it stands."""
        doctor = self._doctor
        return Report(
            epochs=self._epoch + self._part,
            score=self.best_score,
            start=self._start,
            scores=list(self._scores),
            finding=self._finding,
            findings=list(doctor.findings) if doctor else [],
            setup=doctor.history.setup if doctor else self.recipe.setup,
            failed=self._failed,
            error=self._error,
        )

    def close(self) -> None:
        """Take every hook away."""
        self._regimen.close()
        if self._doctor is not None:
            self._doctor.close()

    def _one_epoch(self, heed: bool) -> None:
        doctor = self._doctor or self._begin()
        if self.recipe.cooldown and self._epoch == self.terms.epochs:
            for group in self.live.optimizer.param_groups:
                group["lr"] *= COOL
        model = self.live.model
        model.train()
        size = self.recipe.batch_size
        steps = max(1, ceil((self.data.size or 0) / size))
        for step, (inputs, targets) in enumerate(self.data.batches(size, self._epoch)):
            found = self._step(doctor, inputs, targets)
            self._part = min((step + 1) / steps, 1.0)
            if heed and self._stops(found, at_once=True):
                return
        self._part = 0.0
        self._epoch += 1
        scores = evaluate(model, self.live.loss, self.data)
        self._scores.append(scores)
        self._keep(scores)
        if self._lowering is not None:
            self._lowering.step(-scores["val_loss"])
        found = doctor.epoch(**scores)
        if not (heed and self._stops(found)):
            self.healthy = copy.deepcopy(model.state_dict())

    def _step(self, doctor: Doctor, inputs: tuple[Tensor, ...], targets: Tensor) -> list[Finding]:
        live = self.live
        live.optimizer.zero_grad()
        outputs = live.model(*inputs)
        loss = live.loss(outputs, targets)
        loss.backward()  # type: ignore[no-untyped-call]
        live.optimizer.step()
        return doctor.step(loss, **compared(live.loss, outputs, targets))

    def _begin(self) -> Doctor:
        self._start = evaluate(self.live.model, self.live.loss, self.data)
        self._doctor = watched(self.live, self.terms, self._chart)
        return self._doctor

    def _stops(self, found: Sequence[Finding], at_once: bool = False) -> bool:
        """Note the first finding that there is a remedy for; tell whether that ends it now."""
        at_its_best = bool(self._scores) and key(self._scores[-1]) >= self.best_score - SETBACK
        self._heard += [each for each in found if self.terms.ends(each, at_its_best)]
        every = self.terms.check_every
        if not self._heard or (every is not None and (at_once or self._epoch % every)):
            return False
        self._finding = self._heard[0]
        return True

    def _keep(self, scores: Mapping[str, float]) -> None:
        """Keep the weights of the best epoch; of those that cannot be told apart, the last."""
        score = key(scores)
        if score > self._peak or score > self._peak - doubt(scores, self.data.validation.size):
            self._peak = max(self._peak, score)
            self.best_score = score
            self.best = copy.deepcopy(self.live.model.state_dict())


def is_read(step: int) -> bool:
    """Tell whether a step is read. Always the same ones, so that attempts can be repeated."""
    return step < CLOSELY or step % THEN == 0


def watched(live: Recipe, terms: Terms, chart: str | os.PathLike[str] | None) -> Doctor:
    """Return a doctor for a recipe in training."""
    return watch(
        live.model,
        live.optimizer,
        problems=terms.problems,
        every=is_read,
        epochs=terms.epochs,
        chart=chart,
        on_finding="silent",
    )


def compared(loss: Loss, outputs: Any, targets: Tensor) -> dict[str, Tensor]:
    """Return what a loss compares, where that is sample by sample; else it is found by itself."""
    if not isinstance(outputs, Tensor) or len(outputs) != len(targets):
        return {}
    fitted = loss.fit(outputs, targets) if isinstance(loss, Fitted) else targets
    return {"outputs": outputs, "targets": fitted}


def lowering(recipe: Recipe) -> torch.optim.lr_scheduler.ReduceLROnPlateau:
    """Return a scheduler that halves the learning rate when what it is told rises no more."""
    return torch.optim.lr_scheduler.ReduceLROnPlateau(
        recipe.optimizer, "max", factor=0.5, patience=recipe.patience, threshold_mode="abs"
    )


def placed(live: Recipe, device: str) -> None:
    """Put what is trained on a device: a loss may have weights as well."""
    for part in (live.model, live.loss):
        if isinstance(part, nn.Module):
            part.to(device)


def begin_with(model: nn.Module, weights: Mapping[str, Tensor] | None) -> None:
    """Give a model weights, where they have the names and shapes of its own."""
    if weights is not None and fits(model.state_dict(), weights):
        model.load_state_dict(weights)
