"""Name torch's losses, and listen to their modules.

The modules belong to no model, so they cannot be hooked one by one. While anyone listens,
`torch.nn.modules.loss._Loss` has a `__call__` of its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.loss import _Loss

from sickbay.probe.method_patch import Patch
from sickbay.probe.saved_targets import IGNORED, without_ignored

if TYPE_CHECKING:
    from sickbay.probe.batch import Batch

NAMES: dict[type, str] = {
    nn.CrossEntropyLoss: "cross_entropy",
    nn.NLLLoss: "nll",
    nn.BCELoss: "bce",
    nn.BCEWithLogitsLoss: "bce_logits",
    nn.MultiLabelSoftMarginLoss: "bce_logits",  # its mean, by another name
    nn.MSELoss: "mse",
    nn.L1Loss: "l1",
    nn.SmoothL1Loss: "smooth_l1",
    nn.HuberLoss: "huber",
    nn.KLDivLoss: "kl_div",
    nn.PoissonNLLLoss: "poisson_nll",
    nn.SoftMarginLoss: "soft_margin",
    nn.MultiMarginLoss: "multi_margin",
    nn.HingeEmbeddingLoss: "hinge_embedding",
}
FUNCTIONS: dict[Hashable, str] = {
    functional.cross_entropy: "cross_entropy",
    functional.nll_loss: "nll",
    functional.binary_cross_entropy: "bce",
    functional.binary_cross_entropy_with_logits: "bce_logits",
    functional.mse_loss: "mse",
}


def loss_name(loss: object) -> str:
    """Return the short name of one of torch's losses, "" for any other.

    >>> loss_name(nn.CrossEntropyLoss()), loss_name(functional.nll_loss), loss_name(print)
    ('cross_entropy', 'nll', '')
    """
    function = loss.func if isinstance(loss, partial) else loss
    name = FUNCTIONS.get(function, "") if isinstance(function, Hashable) else ""
    return NAMES.get(type(loss), name)


def _called(listener: Batch, loss: nn.Module, fed: Sequence[Any], value: Any) -> None:
    if len(fed) < 2 or not torch.is_grad_enabled():
        return
    outputs, targets = fed[:2]
    if isinstance(outputs, Tensor) and isinstance(targets, Tensor) and listener.due:
        targets = without_ignored(targets, getattr(loss, "ignore_index", IGNORED))
        listener.on_loss(NAMES.get(type(loss), ""), outputs, targets, value)


def _call(self: _Loss, *args: Any, **kwargs: Any) -> Any:
    if torch.compiler.is_compiling() and _patch.alone:  # invisible to a graph
        return super(_Loss, self).__call__(*args, **kwargs)
    return _patch.call(self, args, kwargs)


_patch = Patch(_Loss, "__call__", _call, "batch", after=_called)
listen, forget = _patch.listen, _patch.forget
