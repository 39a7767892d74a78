"""What the probe collects at a step, before it is turned into `Vitals`."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import hypot, nan
from typing import TYPE_CHECKING

from sickbay.vitals import Numbers, Table

if TYPE_CHECKING:
    from sickbay.probe.activations import StepActivations
    from sickbay.probe.gpu.late_meter import Ticket
    from sickbay.probe.gradients import StepGradients
    from sickbay.probe.seen_batch import Seen
    from sickbay.probe.weights import StepWeights


@dataclass(eq=False)
class Collected:
    """Everything collected since the step before. Optimizers are keyed by their `id`.

    Hooks fill in the first part, `Probe.collect` the second, the doctor's intake the third and
    `Probe.vitals` the last. With a late meter, numbers are missing until `arrival` is there.
    """

    steps: dict[int, int] = field(default_factory=dict)  # that each optimizer took or should have
    norms: dict[int, float] = field(default_factory=dict)  # of the gradients each one used last
    skipped: int = 0  # steps dropped by a gradient scaler
    late_skips: list[Numbers] = field(default_factory=list)  # whether fused optimizers skipped
    scaled: bool = False  # a gradient scaler was used
    alarm: bool = False  # a gradient was not finite, for the first time
    unusual: bool = False  # something changed that deserves a closer look

    step: int = 0  # the number of the newest step
    gradients: StepGradients | None = None
    weights: StepWeights | None = None
    activations: StepActivations | None = None
    batch: Seen | None = None
    replayed: Table | None = None  # activations of the pass that located a NaN
    in_eval: bool = False
    listening: bool = False  # activations should have been read

    numbers: dict[str, float] = field(default_factory=dict)  # passed to `step`, and learning rates
    late_numbers: list[dict[str, Numbers]] = field(default_factory=list)
    arrival: Ticket | None = None

    no_activations: bool = False  # activations should have been read, but no hook was called
    learnt: bool = False  # more is known about the task than before

    @property
    def length(self) -> int:
        """The number of steps: those of the optimizer that made the most."""
        return max(self.steps.values(), default=0)

    @property
    def norm(self) -> float:
        """The norm of all gradients together, NaN if it was not read."""
        return hypot(*self.norms.values()) if self.norms else nan
