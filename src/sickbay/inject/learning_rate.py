"""A learning rate that jumps."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import Any

from torch import Tensor
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from sickbay.arguments import check_float
from sickbay.inject.injection import Injection, When


def raise_learning_rate(optimizer: Optimizer, factor: float, *, at: int) -> Injection:
    """Multiply the learning rate of all groups, from a step on; it is put back when the block ends.

    A schedule goes on, `factor` times as high: one that computes the rate from the last one carries
    the factor along; one that sets it anew is noticed and raised again just before the step.

    Args:
        optimizer: The optimizer.
        factor: What the learning rate is multiplied by, above 0.
        at: The first step, counted from 0 when the block begins.
    """
    return _OnLearningRate(optimizer, When.from_step(at), check_float("factor", factor, above=0))


class _OnLearningRate(Injection):
    def __init__(self, optimizer: Optimizer, when: When, factor: float) -> None:
        super().__init__(optimizer, when)
        self._factor = factor
        self._rates: dict[int, tuple[float, float]] = {}  # by group: as it was, and raised

    def hook(self) -> Iterator[RemovableHandle]:
        yield self._optimizer.register_step_pre_hook(self._raise)

    def undo(self) -> None:
        for index, group in enumerate(self._optimizer.param_groups):
            if index in self._rates:
                set_rate(group, self._as_meant(index, float(group["lr"])))
        self._rates.clear()

    def _raise(self, *_: Any) -> None:
        if not self.acts():
            return
        for index, group in enumerate(self._optimizer.param_groups):
            meant = self._as_meant(index, float(group["lr"]))
            self._rates[index] = meant, meant * self._factor
            set_rate(group, meant * self._factor)

    def _as_meant(self, index: int, rate: float) -> float:
        """Return what the rate would be without the fault."""
        before, raised = self._rates.get(index, (rate, rate))
        if rate == raised:
            return before
        if not rate or not before:
            return rate
        # Changed since: by a schedule that started from the raised rate, or from its own?
        carried = abs(log(rate / raised)) < abs(log(rate / before))
        return rate / self._factor if carried else rate


def set_rate(group: dict[str, Any], rate: float) -> None:
    """Set the learning rate of a group; compiled optimizers keep it in a tensor."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(rate)
    else:
        group["lr"] = rate
