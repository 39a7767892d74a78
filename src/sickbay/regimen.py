"""What a recipe asks for at every step, carried out on a live optimizer."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from sickbay.probe.finite import all_finite
from sickbay.recipe import Recipe


class Regimen:
    """Clips gradients, warms the learning rate up and leaves bad batches out, by optimizer hooks.

    The loop need not know: whoever steps the optimizer gets it.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._step = 0
        self._rates: list[float] = []
        optimizer = recipe.optimizer
        self._handles = [
            optimizer.register_step_pre_hook(self._before),
            optimizer.register_step_post_hook(self._after),
        ]

    def close(self) -> None:
        """Leave the optimizer alone again."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _before(self, optimizer: Optimizer, *_: Any) -> None:
        recipe, held = self.recipe, parameters(optimizer)
        grads = [each.grad for each in held if each.grad is not None]
        if recipe.skip_bad_batches and not all_finite(grads):
            for each in held:
                each.grad = None  # a parameter without one is passed over
            return
        if recipe.clip_value is not None:
            nn.utils.clip_grad_value_(held, recipe.clip_value)
        if recipe.clip_norm is not None:
            nn.utils.clip_grad_norm_(held, recipe.clip_norm)
        self._step += 1
        if self._step <= recipe.warmup:
            self._rates = [group["lr"] for group in optimizer.param_groups]
            for group in optimizer.param_groups:
                group["lr"] = group["lr"] * self._step / recipe.warmup

    def _after(self, optimizer: Optimizer, *_: Any) -> None:
        for group, rate in zip(optimizer.param_groups, self._rates, strict=False):
            group["lr"] = rate
        self._rates = []


def parameters(optimizer: Optimizer) -> list[Tensor]:
    """Return all that an optimizer holds."""
    return [each for group in optimizer.param_groups for each in group["params"]]
