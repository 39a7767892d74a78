"""A training run of the benchmark, and the object that watches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn
from torch.optim import Optimizer


class Watch:
    """Follows a run from its first forward pass to its last epoch. This one ignores everything."""

    def begin(self, model: nn.Module, optimizer: Optimizer, epochs: int) -> None:
        """Start, before the first forward pass."""

    def step(
        self,
        loss: Tensor,
        *,
        outputs: Tensor | None = None,
        targets: Tensor | None = None,
        **metrics: float,
    ) -> None:
        """Take the results of a training step."""

    def epoch(self, **metrics: float) -> None:
        """Take the metrics of an epoch."""


@dataclass(frozen=True)
class Case:
    """A training run with at most one injected fault.

    Attributes:
        name: A unique, readable name such as `vanishing_gradient/circles-fc12-sigmoid-sgd-0`.
        problem: The name of the fault; empty if the run is healthy.
        seed: Even seeds belong to the calibration half, odd seeds to the reporting half.
        data: The name of the data set.
        train: Trains, calls the watch and returns a score: 1 is perfect, 0 is about chance.
        twin: The same run without the fault; None if the fault need not lower the score.
        first: The step of the first possible evidence.
        quick: Whether it belongs to the quick benchmark.
    """

    name: str
    problem: str
    seed: int
    data: str
    train: Callable[[Watch], float]
    twin: Callable[[Watch], float] | None
    first: int = 0
    quick: bool = False
