"""What treatment changes at every optimizer step: skips bad batches, clips, scales the rate."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from time import perf_counter
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from sickbay.doctor.optimizer_step import OptimizerStep, clip_gradients, with_gradients
from sickbay.probe.distributed import is_one_of_several
from sickbay.probe.finite import all_finite
from sickbay.probe.probe import Probe
from sickbay.recipe import Recipe

IN_A_ROW = 10  # bad batches in a row that are skipped; after that, the batches are not to blame
LATELY = 20  # batches of which no more than half may be bad
BUFFERS = 10  # good steps between two copies of the buffers


@dataclass(frozen=True)
class Adjustment:
    """What one treatment changes at every step, until it is undone."""

    ratio: float = 1.0  # of the learning rate
    clip_norm: float | None = None
    clip_value: float | None = None
    # Upper limits of the learning rate, by optimizer and group.
    caps: Mapping[Optimizer, Sequence[float]] = field(default_factory=dict)

    @classmethod
    def between(cls, old: Recipe, new: Recipe) -> Adjustment:
        """Return the change from one recipe to another."""
        norm = new.clip_norm if new.clip_norm != old.clip_norm else None
        value = new.clip_value if new.clip_value != old.clip_value else None
        return cls(new.lr / old.lr if old.lr else 1.0, norm, value)

    def words(self, factor: float) -> str:
        """Describe it, given the factor of all adjustments together.

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


class BadBatches:
    """How many of the latest batches were bad.

    >>> batches = BadBatches()
    >>> [batches.are_too_many(bad=True) for _ in range(IN_A_ROW)].index(True)
    9
    >>> batches.are_too_many(bad=False)
    False
    """

    def __init__(self) -> None:
        self._lately: deque[bool] = deque(maxlen=LATELY)
        self._in_a_row = 0

    def are_too_many(self, *, bad: bool) -> bool:
        """Add a batch; return whether the batches alone cannot be to blame."""
        self._in_a_row = self._in_a_row + 1 if bad else 0
        self._lately.append(bad)
        return bad and (self._in_a_row >= IN_A_ROW or sum(self._lately) > LATELY / 2)


class StepAdjuster:
    """Checks every gradient before the optimizer uses it; skips, clips and scales the rate.

    Learning rates and gradients are restored after every step, so schedules go on undisturbed. An
    optimizer that is stepped with a closure is left alone. So are all of them once other processes
    train together with this one.

    Attributes:
        adjustments: The adjustments in force.
        skipping: Whether batches with a gradient that is not finite are skipped.
        skipped: What was wrong with each batch skipped since `forget`.
        alarmed: Whether a gradient was not finite since `forget`.
        sick: Optimizers with too many bad batches, for which none is skipped any more.
        left_alone: Optimizers that are stepped with a closure.
        over: Whether treatment has ended, because several processes train together.
    """

    def __init__(self, probe: Probe) -> None:
        self.adjustments: list[Adjustment] = []
        self.skipping, self.alarmed, self.over = True, False, False
        self.skipped: list[str] = []
        self.sick: set[Optimizer] = set()
        self.left_alone: set[Optimizer] = set()
        self._model, self._probe = probe.layers.model, probe
        optimizers = probe.held.optimizers
        self._bad_batches = {each: BadBatches() for each in optimizers}
        self._buffers: list[tuple[Tensor, Tensor]] = []  # with their values at a good step
        self._good_steps = 0
        self._on_cpu = True
        self._steps = [OptimizerStep(each, self._prepare, probe.guard) for each in optimizers]

    @property
    def factor(self) -> float:
        """What learning rates are multiplied by."""
        return prod(each.ratio for each in self.adjustments)

    @property
    def clip_norm(self) -> float | None:
        """What the norm of the gradients is clipped to."""
        return min((each.clip_norm for each in self.adjustments if each.clip_norm), default=None)

    @property
    def clip_value(self) -> float | None:
        """What each value of the gradients is clipped to."""
        return min((each.clip_value for each in self.adjustments if each.clip_value), default=None)

    def forget(self) -> None:
        """Forget which batches were bad."""
        self.skipped, self.alarmed = [], False

    def resume(self) -> None:
        """Skip bad batches again, after healthy weights were restored."""
        self.sick.clear()
        self._bad_batches = {each: BadBatches() for each in self._bad_batches}

    def drop(self, adjustment: Adjustment) -> bool:
        """Remove an adjustment; return whether it was in force."""
        kept = [each for each in self.adjustments if each is not adjustment]
        found, self.adjustments = len(kept) < len(self.adjustments), kept
        return found

    def restore_buffers(self) -> bool:
        """Undo what a bad batch wrote to buffers such as a batch norm's; return whether it had."""
        bad = self.skipping and bool(self._buffers) and not all_finite(self._model.buffers())
        with torch.no_grad():
            for buffer, good in self._buffers if bad else ():
                buffer.copy_(good)
        return bad

    def close(self) -> None:
        """Leave the optimizers as they were."""
        for step in self._steps:
            step.close()

    def _prepare(self, step: OptimizerStep, closure: bool) -> None:
        start, optimizer = perf_counter(), step.optimizer
        if not self.over and is_one_of_several():
            self.over, self._probe.quiet = True, False
        if self.over:
            return
        if not closure:
            self._check(step)
        elif optimizer not in self.left_alone:  # its gradients are computed inside the step
            self.left_alone.add(optimizer)
            self._probe.quiet = False
        # On a GPU this mostly waits for work that the loop has to do anyway.
        self._probe.clock.add("looking" if self._on_cpu else "treatment", perf_counter() - start)

    def _check(self, step: OptimizerStep) -> None:
        optimizer = step.optimizer
        found_inf = getattr(optimizer, "found_inf", None)
        if found_inf is not None and float(found_inf) > 0:
            return  # a fused optimizer under a gradient scaler, which skips by itself
        held, grads = with_gradients(optimizer)
        self._on_cpu = not grads or grads[0].is_cpu
        bad = not all_finite(grads)
        too_many = self._bad_batches[optimizer].are_too_many(bad=bad)
        if bad:
            self.alarmed, self._probe.quiet = True, False
            if self.skipping and optimizer not in self.sick:
                self._skip(step, held)
            if too_many:
                self.sick.add(optimizer)
            return
        if self._good_steps % BUFFERS == 0:
            self._buffers = [(each, each.detach().clone()) for each in self._model.buffers()]
        self._good_steps += 1
        if self.adjustments:
            grad_scale = getattr(optimizer, "grad_scale", None)  # a fused optimizer unscales later
            scale = 1.0 if grad_scale is None else float(grad_scale)
            clip_gradients(held, self.clip_norm, self.clip_value, scale)
            for index, group in enumerate(optimizer.param_groups):
                self._scale_rate(step, index, group)

    def _skip(self, step: OptimizerStep, held: list[Tensor]) -> None:
        names = {id(each): name for name, each in self._model.named_parameters()}
        culprit = next(each for each in held if not all_finite([each.grad]))  # type: ignore[list-item]
        name = names.get(id(culprit), "a parameter")
        self.skipped.append(f"the gradient of {name} was not finite")
        step.skip(held)
        if self.restore_buffers():
            self.skipped[-1] += " (buffers put back)"

    def _scale_rate(self, step: OptimizerStep, index: int, group: dict[str, Any]) -> None:
        rate = float(group.get("lr", 0.0))
        caps = [each.caps.get(step.optimizer, ())[index:] for each in self.adjustments]
        wanted = min([self.factor * rate, *(each[0] for each in caps if each)])
        if wanted != rate:
            step.set_rate(group, group["lr"] * (wanted / rate))  # a tensor stays one
