"""Call a loss without consequences."""

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any, TypeVar

import torch
from torch import Tensor

from sickbay.isolated_random import IsolatedRandom

AnyLoss = TypeVar("AnyLoss", bound=Callable[..., Any])


def harmless(loss: AnyLoss) -> AnyLoss:
    """Return a copy of a loss, as a module, an object or a method may keep what it has seen.

    A plain function is its own copy: what it keeps outside of itself changes.
    """
    return copy.deepcopy(loss)


@dataclass(frozen=True)
class Called:
    """What came back: NaN and no gradient if the loss raised an exception."""

    value: float = nan
    gradient: Tensor | None = None  # None too if the loss does not depend on the outputs
    ran: bool = False

    @property
    def finite(self) -> bool:
        """Whether the value and the gradient are finite."""
        gradient = self.gradient
        return isfinite(self.value) and (gradient is None or bool(gradient.isfinite().all()))

    @property
    def flat(self) -> bool:
        """Whether the loss gives the outputs no gradient."""
        return self.ran and (self.gradient is None or not bool(self.gradient.any()))


class Calls:
    """Calls a loss with a batch of targets. Every call draws the same random numbers."""

    def __init__(self, loss: Callable[..., Any], targets: Tensor) -> None:
        self._loss = harmless(loss)
        self.targets = targets

    def __call__(self, outputs: Tensor, targets: Tensor | None = None) -> Called:
        """Return the loss of some outputs, and its gradient."""
        leaf = outputs.detach().clone().requires_grad_()
        known = (self.targets if targets is None else targets).clone()
        try:
            with IsolatedRandom(0), torch.enable_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = self._loss(leaf, known)
                found: tuple[Tensor | None, ...] = (None,)
                if value.requires_grad:
                    found = torch.autograd.grad(value, leaf, allow_unused=True)
                return Called(float(value), found[0], True)
        except Exception:  # a loss may refuse made-up outputs
            return Called()


def same(first: Called, second: Called) -> bool:
    """Return whether two values are equal, up to rounding."""
    if not (isfinite(first.value) and isfinite(second.value)):
        return False
    return abs(first.value - second.value) <= 1e-5 * max(abs(first.value), abs(second.value), 1e-6)
