"""One run of a repair: one training of one recipe, and how far it has come."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, TypeAlias

from torch import Tensor

from sickbay.findings import Finding
from sickbay.problems import ImproperLoss
from sickbay.problems.shared.yardsticks import Yardstick, metric_in
from sickbay.recipe import Recipe
from sickbay.remedies import Remedy
from sickbay.repairs.outcome import Attempt
from sickbay.repairs.scoring import key
from sickbay.vitals import Setup

GAIN, FALL = 0.02, 0.95  # a run learns if its score rises by GAIN or its loss falls below FALL
WORST = -0.99  # share of variance below which a regression has learnt nothing, whatever its loss

IMPROPER = ImproperLoss.name()

Weights: TypeAlias = dict[str, Any]  # a state dict: tensors, and extra state of modules


class RemoteError(Exception):
    """An exception from another process. Its text is the traceback from there."""


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    epochs: float = 0.0  # with the fraction of one that was stopped halfway
    score: float = -inf  # of the best weights; higher is better
    start: dict[str, float] = field(default_factory=dict)  # metrics before the first step
    scores: list[dict[str, float]] = field(default_factory=list)  # metrics after each epoch
    finding: Finding | None = None  # what stopped the run
    findings: list[Finding] = field(default_factory=list)
    setup: Setup = field(default_factory=Setup)
    failed: str = ""  # the error that training raised, in one sentence
    stopped: bool = False  # by a callback
    example: tuple[Tensor, ...] = ()  # inputs of one batch, if they were not known before
    error: Exception | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent to another process. Tracebacks cannot be pickled."""
        error = self.error
        if error is not None and not isinstance(error, RemoteError):
            error = RemoteError("\n\n" + "".join(traceback.format_exception(error)))
        return {**vars(self), "error": error}

    @property
    def healthy(self) -> bool:
        """Whether nothing stopped the run."""
        return self.finding is None and not self.failed

    @property
    def gain(self) -> float:
        """How much the score has risen since the start."""
        return self.score - key(self.start) if self.start else inf

    @property
    def learns(self) -> bool:
        """Whether score or loss are better than at the start."""
        if not self.scores:  # a user's loop that reports no epochs has no start metrics either
            return not self.start and self.score > -inf
        loss, now = self.start.get("val_loss", inf), self.scores[-1].get("val_loss", inf)
        useless = self.scores[-1].get("val_score", 0.0) <= WORST
        return self.gain > GAIN or (now < FALL * loss and not useless)


@dataclass(frozen=True)
class Update:
    """What changed in one epoch. Weights that are None have not changed."""

    progress: Progress
    best: Weights | None = None
    healthy: Weights | None = None
    over: bool = False  # whether there is nothing more to train
    score: float = -inf  # of the newest epoch


@dataclass(eq=False)
class Run:
    """One training of one recipe. Each run but the first changes the recipe of its parent."""

    number: int  # its place in the search; 0 is the recipe as given
    recipe: Recipe  # finished runs that are no longer needed have none
    parent: Run | None = None
    finding: Finding | None = None  # what it should cure
    remedy: Remedy | None = None  # what changed the recipe
    treatable: Collection[str] = ()  # the problems that stop it
    yardstick: Yardstick = field(default_factory=Yardstick)  # what its score is held against
    done: int = 0  # of its planned epochs, which its first weights have had before
    progress: Progress = field(default_factory=Progress)
    heats: list[Progress] = field(default_factory=list)  # the progress after each heat
    best: Weights = field(default_factory=dict)
    healthy: Weights = field(default_factory=dict)  # after the last epoch without a finding
    result: str = ""  # "healthy", a problem's name, "slower", or why it failed
    recorded: Sequence[Progress] = ()  # its heats, if an earlier session has finished it

    def __post_init__(self) -> None:
        self.best = self.healthy = self.recipe.model.state_dict()

    @property
    def meets_yardstick(self) -> bool:
        """Whether its score is above that of a constant answer, and not far below a reference."""
        return self.yardstick.is_met(self.progress.score)

    def has_gained(self, tries: int) -> bool:
        """Return whether it beats a constant answer by more than chance in so many tries.

        Where none is known, it must beat its parent, unless that was misled by its loss.
        """
        score, held, parent = self.progress.score, self.yardstick, self.parent
        if held.constant is not None:
            return held.surely_beats_constant(score, tries)
        return parent is None or parent.is_misled or score > parent.progress.score

    @property
    def is_misled(self) -> bool:
        """Whether its score is a loss, and the loss an improper one, so that it says nothing."""
        scores = self.progress.scores[-1] if self.progress.scores else self.progress.start
        improper = any(each.problem == IMPROPER for each in self.progress.findings)
        return improper and metric_in(scores)[0] == "val_loss"

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """What runs are compared by: whether they meet their yardstick, then the score."""
        return self.meets_yardstick, not self.is_misled, self.progress.score

    @property
    def problem(self) -> str:
        """The problem that it should cure."""
        return self.finding.problem if self.finding else ""

    @property
    def path(self) -> list[Run]:
        """The runs that led to it, and itself."""
        return [*(self.parent.path if self.parent else ()), self]

    @property
    def name(self) -> str:
        """What it changes, for people."""
        return self.remedy.words if self.remedy else "as given"

    @property
    def attempt(self) -> Attempt:
        """Its summary in `Outcome.attempts`."""
        return Attempt(
            self.number,
            self.parent.number if self.parent else None,
            self.problem,
            self.remedy.key if self.remedy else "",
            self.name,
            self.progress.epochs,
            self.progress.score,
            self.result,
        )

    def take(self, update: Update) -> None:
        """Take over what one epoch changed."""
        self.progress = update.progress
        if update.best is not None:
            self.best = self.healthy = update.best
        if update.healthy is not None:
            self.healthy = update.healthy

    def release(self) -> None:
        """Free the weights and the recipe, so that no run can start from them."""
        self.best, self.healthy = {}, {}
        if "recipe" in vars(self):
            del self.recipe
