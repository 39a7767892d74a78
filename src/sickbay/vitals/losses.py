"""Hearing what loss modules are fed: they belong to no model, so they cannot be hooked one by one.

`torch.nn.modules.loss._Loss` gets a `__call__` of its own while anybody listens. Other modules are
not touched by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol
from weakref import WeakSet

import torch
from torch import Tensor, nn
from torch.nn.modules.loss import _Loss

from sickbay.vitals.guard import Guard
from sickbay.vitals.patch import Patch

NAMES = {
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll",
    "BCELoss": "bce",
    "BCEWithLogitsLoss": "bce_logits",
    "MSELoss": "mse",
    "L1Loss": "l1",
    "SmoothL1Loss": "smooth_l1",
    "HuberLoss": "huber",
    "KLDivLoss": "kl_div",
    "PoissonNLLLoss": "poisson_nll",
    "SoftMarginLoss": "soft_margin",
    "MultiMarginLoss": "multi_margin",
    "HingeEmbeddingLoss": "hinge_embedding",
}


class Listener(Protocol):
    """Whoever wants to hear of losses."""

    guard: Guard

    def heard(self, loss: str, outputs: Tensor, targets: Tensor, value: Any) -> None:
        """Take note that a loss has compared these, and what came out."""


_listeners: WeakSet[Listener] = WeakSet()  # weak, so that a forgotten listener can go


def listen(listener: Listener) -> None:
    """Tell `listener` of every loss module that is called from now on."""
    _listeners.add(listener)
    _patch.put_on()


def forget(listener: Listener) -> None:
    """Stop that."""
    _listeners.discard(listener)
    if not _listeners:
        _patch.take_off()


def _called(loss: nn.Module, fed: Sequence[Any], value: Any) -> None:
    if len(fed) < 2 or not torch.is_grad_enabled():
        return
    outputs, targets = fed[:2]
    if isinstance(outputs, Tensor) and isinstance(targets, Tensor):
        name = NAMES.get(type(loss).__name__, "")
        for listener in list(_listeners):
            listener.guard.run("batch", listener.heard, name, outputs, targets, value)


def _call(self: _Loss, *args: Any, **kwargs: Any) -> Any:
    if torch.compiler.is_compiling() and _patch.alone:  # a graph goes through as if this were not
        return super(_Loss, self).__call__(*args, **kwargs)
    return _patch.call(self, args, kwargs)


_patch = Patch(_Loss, "__call__", _call, after=_called)
