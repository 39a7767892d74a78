"""What a loss is called."""

from __future__ import annotations

from functools import partial

from sickbay.probe.loss_modules import NAMES

FUNCTIONS = {
    "cross_entropy": "cross_entropy",
    "nll_loss": "nll",
    "binary_cross_entropy": "bce",
    "binary_cross_entropy_with_logits": "bce_logits",
    "mse_loss": "mse",
}


def loss_name(loss: object) -> str:
    """Return what a loss is called in `losses.NAMES`, "" for one that is not known.

    >>> from torch import nn
    >>> loss_name(nn.CrossEntropyLoss()), loss_name(nn.functional.nll_loss), loss_name(print)
    ('cross_entropy', 'nll', '')
    """
    name = getattr(loss.func if isinstance(loss, partial) else loss, "__name__", "")
    return NAMES.get(type(loss)) or FUNCTIONS.get(name, "")
