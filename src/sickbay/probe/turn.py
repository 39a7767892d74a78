"""A turn of the loop: what has happened in it, what was taken, and the reading made of that."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import hypot, nan

from sickbay.probe import activations, gradients, weights
from sickbay.probe.seen_batch import Seen
from sickbay.vitals import Numbers, Table


@dataclass(frozen=True)
class Reading:
    """What the probe brings back from one turn of the loop."""

    steps: int = 0  # steps the optimizer took or was to take
    skipped: int = 0  # of them, dropped by a gradient scaler
    scalars: dict[str, float] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    alarm: bool = False  # a gradient was not finite, for the first time
    strange: bool = False  # something has changed that is worth a closer look
    unheard: bool = False  # activations were to be read but no hook was called
    news: bool = False  # more is known about the task than before


@dataclass
class Turn:
    """What has happened since the doctor was last told of a step; optimizers by their id."""

    steps: dict[int, int] = field(default_factory=dict)
    norms: dict[int, float] = field(default_factory=dict)  # of the gradients each used last
    skipped: int = 0
    alarm: bool = False
    strange: bool = False
    scaled: bool = False  # a gradient scaler was at work
    dropped: list[Numbers] = field(default_factory=list)  # whether fused ones skip; comes later

    @property
    def length(self) -> int:
        """How many steps it is: those of the optimizer that made most."""
        return max(self.steps.values(), default=0)

    @property
    def norm(self) -> float:
        """The norm of all gradients together, NaN if it was not read."""
        return hypot(*self.norms.values()) if self.norms else nan


@dataclass(frozen=True, eq=False)
class Round:
    """All that was taken in a turn; of what a late meter measures the numbers come later."""

    turn: Turn
    step: int
    gradients: gradients.StepGradients
    weights: weights.StepWeights | None
    activations: activations.StepActivations | None
    batch: Seen | None
    replayed: Table | None
    in_eval: bool
    listened: bool  # whether activations were to be heard
