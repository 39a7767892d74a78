"""Hearing what loss modules are fed: they belong to no model, so they cannot be hooked one by one.

`torch.nn.modules.loss._Loss` gets a `__call__` of its own while anybody listens. Other modules are
not touched by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn.modules.loss import _Loss

from sickbay.probe.method_patch import Guarded, Patch

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


class Listener(Guarded, Protocol):
    """Whoever wants to hear of losses."""

    def heard(self, loss: str, outputs: Tensor, targets: Tensor, value: Any) -> None:
        """Take note that a loss has compared these, and what came out."""


def _called(listener: Listener, loss: nn.Module, fed: Sequence[Any], value: Any) -> None:
    if len(fed) < 2 or not torch.is_grad_enabled():
        return
    outputs, targets = fed[:2]
    if isinstance(outputs, Tensor) and isinstance(targets, Tensor):
        listener.heard(NAMES.get(type(loss).__name__, ""), outputs, targets, value)


def _call(self: _Loss, *args: Any, **kwargs: Any) -> Any:
    if torch.compiler.is_compiling() and _patch.alone:  # a graph goes through as if this were not
        return super(_Loss, self).__call__(*args, **kwargs)
    return _patch.call(self, args, kwargs)


_patch: Patch[Listener] = Patch(_Loss, "__call__", _call, "batch", after=_called)
listen, forget = _patch.listen, _patch.forget
