"""Attempts in the user's own loop: it is begun anew with each recipe, and ended by a finding."""

from __future__ import annotations

import copy
from collections.abc import Callable
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
from sickbay.regimen import Regimen
from sickbay.repairs.crew import Crew
from sickbay.repairs.report import Report
from sickbay.repairs.scoring import key
from sickbay.repairs.trainee import Job, Tick, Trainee, Weights
from sickbay.repairs.training import SETBACK, Terms, begin_with, lowering, placed, watched

LATELY = 20  # steps whose loss stands for a score
Train: TypeAlias = Callable[[Recipe, Any], object]


class Enough(SickbayError):  # noqa: N818 - no error: the target is met, or the epochs are used up
    """There is nothing more to train."""


class Attendant:
    """The doctor as a loop gets it: also keeps the best weights, and ends the loop when it is time.

    It is called like a doctor: `step` after each step, `epoch` after each epoch.
    """

    def __init__(
        self, live: Recipe, terms: Terms, chart: str | None, heed: bool, tick: Tick
    ) -> None:
        self._live, self._terms, self._heeds, self._tick = live, terms, heed, tick
        self.doctor = watched(live, terms, chart)
        self._lowering = lowering(live) if live.patience else None
        self.scores: list[dict[str, float]] = []
        self.best_score, self.epochs, self.calls = -inf, 0, 0
        self.finding: Finding | None = None  # what the loop was to end at
        self.best = self.healthy = copy.deepcopy(live.model.state_dict())

    def step(self, loss: Tensor | float | None = None, **metrics: Any) -> list[Finding]:
        """Tell the doctor of a step; ends the loop if it finds something there is a remedy for."""
        self.calls += 1
        return self._heed(self.doctor.step(loss, **metrics))

    def epoch(self, **metrics: Any) -> list[Finding]:
        """Tell the doctor of an epoch, with what was evaluated."""
        found = self.doctor.epoch(**metrics)
        scores = {name: float(value) for name, value in metrics.items()}
        self.epochs += 1
        self.scores.append(scores)
        weights = copy.deepcopy(self._live.model.state_dict())
        score = self.score(scores)
        if self._lowering is not None:
            self._lowering.step(score)
        if score > self.best_score:
            self.best_score, self.best = score, weights
        self._tick(Report(epochs=self.epochs, score=self.best_score))
        self._heed(found, score >= self.best_score - SETBACK)
        self.healthy = weights
        if self._terms.met(self.best_score) or self.epochs >= self._terms.epochs:
            raise Enough("all epochs are done")
        return found

    def score(self, scores: dict[str, float]) -> float:
        """Return what was evaluated as one number; without that, the accuracy or the loss."""
        if (told := key(scores)) > -inf:
            return told
        losses = self.doctor.history.recent("loss", LATELY) or [inf]
        score = scores.get("accuracy", -sum(losses) / len(losses))
        return -inf if isnan(score) else score

    def _heed(self, found: list[Finding], at_its_best: bool = False) -> list[Finding]:
        ending = [each for each in found if self._terms.ends(each, at_its_best)]
        if ending and self._heeds:
            self.finding = self.finding or ending[0]
            raise Diagnosed(ending)
        return found


class OwnLoop(Trainee):
    """An attempt in the user's loop: the first `advance` runs all of it."""

    def __init__(self, train: Train, job: Job, tick: Tick) -> None:
        self._train, self._job, self._tick = train, job, tick
        self._report = Report()
        self._attendant: Attendant | None = None

    def advance(self, epochs: int, heed: bool = True) -> None:  # noqa: ARG002 - all at once
        if self._attendant is None:
            self._run(heed)

    def report(self) -> Report:
        return self._report

    def weights(self) -> tuple[Weights, Weights]:
        if self._attendant is None:
            state = self._job.recipe.model.state_dict()
            return state, state
        return self._attendant.best, self._attendant.healthy

    def close(self) -> None:
        if self._attendant is not None:
            self._attendant.doctor.close()

    def _run(self, heed: bool) -> None:
        live = self._job.recipe.copy()
        begin_with(live.model, self._job.start)
        terms, chart = self._job.terms, self._job.chart
        placed(live, terms.device)
        attendant = self._attendant = Attendant(live, terms, chart, heed, self._tick)
        regimen = Regimen(live)
        failed = ""
        example: tuple[Tensor, ...] = ()
        try:
            with IsolatedRandom(terms.seed):
                self._train(live, attendant)
        except (Diagnosed, Enough):
            pass
        except Exception as error:
            if not self._job.recipe.code:  # as given: that is no fault of a remedy
                raise
            failed = error_message(error)
        finally:
            regimen.close()
            example = attendant.doctor.example
            attendant.doctor.close()
        history, finding = attendant.doctor.history, attendant.finding
        if history.step < 0 and not failed:
            raise UsageError(
                "train must train recipe.model by recipe.optimizer and call doctor.step after each "
                f"step; it was called {attendant.calls} times, that optimizer made no step."
            )
        if not attendant.scores and finding is None:  # no epochs were told: the loss must do
            attendant.best_score = attendant.score({})
        if not attendant.scores and attendant.best_score > -inf:
            attendant.best = copy.deepcopy(live.model.state_dict())
        self._report = Report(
            epochs=attendant.epochs or (1.0 if finding is None else 0.0),
            score=attendant.best_score,
            scores=attendant.scores,
            finding=finding,
            findings=list(attendant.doctor.findings),
            setup=history.setup,
            example=example,
            failed=failed,
        )


class OwnCrew(Crew):
    """Starts attempts in the user's loop, which cannot be paused: so one at a time."""

    runners = 1

    def __init__(self, train: Train) -> None:
        self._train = train

    def start(self, job: Job, tick: Tick) -> Trainee:
        return OwnLoop(self._train, job, tick)


def check_train(train: object, **unused: object) -> None:
    """Say so if this is no loop, or something is given that such a loop brings along itself."""
    if not _takes_two(train):
        raise UsageError(
            f"train must be a function of a recipe and a doctor, got {short_repr(train)}."
        )
    if given := [name for name, value in unused.items() if value is not None]:
        raise UsageError(
            f"train= is a loop of your own, with its own data, in this process: it cannot have "
            f"{' and '.join(given)} as well; leave that out, or leave out train=."
        )


def _takes_two(train: object) -> bool:
    """Tell whether this can be called with a recipe and a doctor, as far as that can be known."""
    if not callable(train) or isinstance(train, type | nn.Module):
        return False
    try:
        signature(train).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # some functions of C do not say
        pass
    return True
