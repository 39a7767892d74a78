"""Hearing what loss modules are fed: they belong to no model, so they cannot be hooked one by one.

`torch.nn.modules.loss._Loss` gets a `__call__` of its own while anybody listens. Other modules are
not touched by that, and a compiled graph goes through it as if it were not there.
"""

from typing import Any, Protocol
from weakref import WeakSet

import torch
from torch import Tensor, nn
from torch.nn.modules.loss import _Loss

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

    def heard(self, loss: str, outputs: Tensor, targets: Tensor, value: Any) -> None:
        """Take note that a loss has compared these, and what came out."""


_listeners: WeakSet[Listener] = WeakSet()  # weak, so that a forgotten listener can go


def listen(listener: Listener) -> None:
    """Tell `listener` of every loss module that is called from now on."""
    if not _listeners:
        _Loss.__call__ = _call  # type: ignore[method-assign]
    _listeners.add(listener)


def forget(listener: Listener) -> None:
    """Stop that."""
    _listeners.discard(listener)
    if not _listeners and vars(_Loss).get("__call__") is _call:
        del _Loss.__call__


def _call(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
    value = nn.Module.__call__(self, *args, **kwargs)
    if not torch.compiler.is_compiling() and torch.is_grad_enabled():
        fed = (*args, *kwargs.values())
        if len(fed) > 1 and isinstance(fed[0], Tensor) and isinstance(fed[1], Tensor):
            for listener in list(_listeners):
                listener.heard(NAMES.get(type(self).__name__, ""), fed[0], fed[1], value)
    return value
