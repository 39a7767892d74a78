"""What treatment does at every step of a live optimizer, by hooks that leave its settings alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from sickbay.doctor.optimizer_step import OptimizerStep
from sickbay.probe.distributed import is_one_of_several
from sickbay.probe.finite import all_finite
from sickbay.probe.probe import Probe
from sickbay.recipe import Recipe

IN_A_ROW = 10  # bad batches in a row that are skipped; then it is not the batch
LATELY = 20  # batches of which no more than half may be bad
BUFFERS = 10  # good steps between two copies of the buffers


@dataclass(frozen=True)
class Adjustment:
    """What one treatment does at every step, until it is undone."""

    ratio: float = 1.0  # of the learning rate
    clip_norm: float | None = None
    clip_value: float | None = None
    # Learning rates that are not exceeded, by optimizer and group.
    caps: Mapping[Optimizer, Sequence[float]] = field(default_factory=dict)

    @classmethod
    def between(cls, old: Recipe, new: Recipe) -> Adjustment:
        """Return what leads from one recipe to another."""
        norm = new.clip_norm if new.clip_norm != old.clip_norm else None
        value = new.clip_value if new.clip_value != old.clip_value else None
        return cls(new.lr / old.lr if old.lr else 1.0, norm, value)

    def words(self, factor: float) -> str:
        """Return what it does, given the factor of all adjustments together.

        >>> Adjustment(0.5).words(0.5), Adjustment(0.5).words(0.25)
        ('halved the learning rate (x0.5)', 'halved the learning rate (x0.5, x0.25 in all)')
        """
        if self.clip_norm is not None:
            return f"now clips the norm of the gradients to {self.clip_norm:.3g}"
        if self.clip_value is not None:
            return f"now clips each value of the gradients to {self.clip_value:.3g}"
        words = "halved" if self.ratio == 0.5 else "changed"
        together = "" if factor == self.ratio else f", x{factor:g} in all"
        return f"{words} the learning rate (x{self.ratio:g}{together})"


class Streak:
    """How many batches were bad of late.

    >>> streak = Streak()
    >>> [streak.is_lasting(bad=True) for _ in range(IN_A_ROW)].index(True)
    9
    >>> streak.is_lasting(bad=False)
    False
    """

    def __init__(self) -> None:
        self._lately: deque[bool] = deque(maxlen=LATELY)
        self._in_a_row = 0

    def is_lasting(self, *, bad: bool) -> bool:
        """Take in a batch; tell whether this is more than bad batches."""
        self._in_a_row = self._in_a_row + 1 if bad else 0
        self._lately.append(bad)
        return bad and (self._in_a_row >= IN_A_ROW or sum(self._lately) > LATELY / 2)


class StepAdjuster:
    """Looks at every gradient before it reaches the weights; skips, clips and scales the rate.

    Learning rates and gradients are as the loop has set them again after every step, so a schedule
    goes on undisturbed. An optimizer that is stepped with a closure is left alone, and all of them
    are once other processes train with this one.

    Attributes:
        adjustments: What is in force.
        skipping: Whether a batch whose gradient is not finite is skipped.
        skipped: What was wrong with each batch skipped since `seen`.
        alarmed: Whether a gradient was not finite since `seen`.
        sick: Optimizers that had too many bad batches, for which none is skipped any more.
        left_alone: Optimizers that are stepped with a closure.
        over: Whether treatment has ended, because this has become one of several processes.
    """

    def __init__(
        self,
        probe: Probe,
    ) -> None:
        self.adjustments: list[Adjustment] = []
        self.skipping, self.alarmed, self.over = True, False, False
        self.skipped: list[str] = []
        self.sick: set[Optimizer] = set()
        self.left_alone: set[Optimizer] = set()
        self._model, self._probe = probe.layers.model, probe
        self._streaks = {each: Streak() for each in probe.optimizers}
        self._buffers: list[tuple[Tensor, Tensor]] = []  # with what they held at a good step
        self._good_steps = 0
        self._on_cpu = True
        self._steppings = [
            OptimizerStep(each, self._prepare, probe.guard) for each in probe.optimizers
        ]

    @property
    def factor(self) -> float:
        """What learning rates are multiplied by."""
        return prod(adjustment.ratio for adjustment in self.adjustments)

    @property
    def clip_norm(self) -> float | None:
        """What the norm of the gradients is clipped to."""
        return min(
            (adjustment.clip_norm for adjustment in self.adjustments if adjustment.clip_norm),
            default=None,
        )

    @property
    def clip_value(self) -> float | None:
        """What each value of the gradients is clipped to."""
        return min(
            (adjustment.clip_value for adjustment in self.adjustments if adjustment.clip_value),
            default=None,
        )

    def seen(self) -> None:
        """Forget what was noted since the last call."""
        self.skipped, self.alarmed = [], False

    def resume(self) -> None:
        """Skip bad batches again, after the weights went back to healthy ones."""
        self.sick.clear()
        self._streaks = {each: Streak() for each in self._streaks}

    def mend_buffers(self) -> bool:
        """Put back what a bad batch has written to a batch norm; tell whether it had."""
        mends = self.skipping and bool(self._buffers) and not all_finite(self._model.buffers())
        with torch.no_grad():
            for buffer, good in self._buffers if mends else ():
                buffer.copy_(good)
        return mends

    def close(self) -> None:
        """Leave the optimizers as they were."""
        for stepping in self._steppings:
            stepping.close()

    def _prepare(self, stepping: OptimizerStep, closure: bool) -> None:
        start, optimizer = perf_counter(), stepping.optimizer
        if not self.over and is_one_of_several():
            self.over = True
            self._probe.quiet = False
        if self.over:
            return
        if not closure:
            self._look(stepping)
        elif optimizer not in self.left_alone:  # its gradients come into being inside the step
            self.left_alone.add(optimizer)
            self._probe.quiet = False
        # On a GPU this mostly waits for what the loop has to do anyway.
        self._probe.clock.add("looking" if self._on_cpu else "treatment", perf_counter() - start)

    def _look(self, stepping: OptimizerStep) -> None:
        optimizer = stepping.optimizer
        found_inf = getattr(optimizer, "found_inf", None)
        if found_inf is not None and float(found_inf) > 0:
            return  # a fused optimizer under a gradient scaler, which skips by itself
        held, grads = with_gradients(optimizer)
        self._on_cpu = not grads or grads[0].is_cpu
        bad = not all_finite(grads)
        lasting = self._streaks[optimizer].is_lasting(bad=bad)
        if bad:
            self.alarmed = True
            self._probe.quiet = False
            if self.skipping and optimizer not in self.sick:
                self._skip(stepping, held)
            if lasting:
                self.sick.add(optimizer)
            return
        if self._good_steps % BUFFERS == 0:
            self._buffers = [(each, each.detach().clone()) for each in self._model.buffers()]
        self._good_steps += 1
        if self.adjustments:
            self._clip(held, getattr(optimizer, "grad_scale", None))
            for index, group in enumerate(optimizer.param_groups):
                self._scale_rate(stepping, index, group)

    def _skip(self, stepping: OptimizerStep, held: list[Tensor]) -> None:
        names = {id(each): name for name, each in self._model.named_parameters()}
        culprit = next(each for each in held if not all_finite([each.grad]))  # type: ignore[list-item]
        name = names.get(id(culprit), "a parameter")
        self.skipped.append(f"the gradient of {name} was not finite")
        stepping.pass_over(held)
        if self.mend_buffers():
            self.skipped[-1] += " (buffers put back)"

    def _clip(self, held: list[Tensor], grad_scale: Tensor | None) -> None:
        scale = 1.0 if grad_scale is None else float(grad_scale)  # a fused optimizer unscales later
        dense = [each for each in held if each.grad is not None and not each.grad.is_sparse]
        if (value := self.clip_value) is not None:
            nn.utils.clip_grad_value_(dense, value * scale)
        if (norm := self.clip_norm) is not None:
            nn.utils.clip_grad_norm_(dense, norm * scale)

    def _scale_rate(self, stepping: OptimizerStep, index: int, group: dict[str, Any]) -> None:
        rate = float(group.get("lr", 0.0))
        held = [
            adjustment.caps.get(stepping.optimizer, ())[index:] for adjustment in self.adjustments
        ]
        wanted = min([self.factor * rate, *(caps[0] for caps in held if caps)])
        if wanted != rate:
            stepping.lend(group, group["lr"] * (wanted / rate))  # a tensor stays one


def with_gradients(optimizer: Optimizer) -> tuple[list[Tensor], list[Tensor]]:
    """Return the parameters that have a gradient, and these."""
    held, grads = [], []
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if (grad := parameter.grad) is not None:
                held.append(parameter)
                grads.append(grad)
    return held, grads
