"""A loss as code to paste."""

from collections.abc import Callable
from typing import Any

from torch import nn


def loss_code(loss: Callable[..., Any]) -> str:
    """Return a loss as code: torch's by its name, any other as the `loss` that it is called.

    >>> loss_code(nn.MSELoss()), loss_code(nn.L1Loss(reduction="sum")), loss_code(max)
    ('nn.MSELoss()', "nn.L1Loss(reduction='sum')", 'loss')
    >>> loss_code(nn.functional.mse_loss)
    'nn.functional.mse_loss'
    """
    if type(loss).__module__.startswith("torch.nn"):
        reduction = getattr(loss, "reduction", "mean")
        kind = type(loss).__name__
        return f"nn.{loss}" if reduction == "mean" else f"nn.{kind}(reduction={reduction!r})"
    if type(loss).__module__.startswith("sickbay."):
        return repr(loss)
    name = getattr(loss, "__name__", "")
    return f"nn.functional.{name}" if getattr(nn.functional, name, None) is loss else "loss"
