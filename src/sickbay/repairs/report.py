"""Where an attempt stands, wherever it is trained."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from math import inf
from typing import Any

from torch import Tensor

from sickbay.findings import Finding
from sickbay.repairs.scoring import key
from sickbay.vitals import Setup

GAIN, FALL = 0.02, 0.95  # in score, or of the loss: from there on something is learnt
WORST = -0.99  # a score of values that says nothing has been learnt, however the loss falls


class Traced(Exception):  # noqa: N818 - stands for the exception of another process
    """An exception of another process: its text is the traceback there."""

    @classmethod
    def of(cls, error: Exception | None) -> Traced | None:
        """Return an exception as one that can be sent."""
        if error is None or isinstance(error, Traced):
            return error
        return cls("\n\n" + "".join(traceback.format_exception(error)))


@dataclass(frozen=True)
class Report:
    """Where an attempt stands.

    Attributes:
        epochs: Epochs trained, a part of one if it was stopped within.
        score: The score of the weights that are kept, to compare attempts by: higher is better.
        start: What was evaluated before the first step.
        scores: What was evaluated after each epoch.
        finding: What it was stopped by, if it was.
        findings: All that was found.
        setup: What is known about model and task.
        failed: What training raised, if it did, in words.
        example: Inputs of a batch, where they were not known before.
        error: What training raised, if it did.
    """

    epochs: float = 0.0
    score: float = -inf
    start: dict[str, float] = field(default_factory=dict)
    scores: list[dict[str, float]] = field(default_factory=list)
    finding: Finding | None = None
    findings: list[Finding] = field(default_factory=list)
    setup: Setup = field(default_factory=Setup)
    failed: str = ""
    example: tuple[Tensor, ...] = ()
    error: Exception | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent to another process: of an exception, its traceback as text."""
        return {**vars(self), "error": Traced.of(self.error)}

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.finding is None and not self.failed

    @property
    def gain(self) -> float:
        """How much better the score is than at the start."""
        return self.score - key(self.start) if self.start else inf

    @property
    def learns(self) -> bool:
        """Whether it is better than at its start, by score or by loss."""
        if not self.scores:  # a loop that tells of no epochs has no start either
            return not self.start and self.score > -inf
        loss, now = self.start.get("val_loss", inf), self.scores[-1].get("val_loss", inf)
        useless = self.scores[-1].get("val_score", 0.0) <= WORST
        return self.gain > GAIN or (now < FALL * loss and not useless)
