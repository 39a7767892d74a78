"""Lowering or removing dropout, where a model loses too much of its signals to learn."""

from typing import Any

from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from sickbay.arguments import check_float
from sickbay.errors import Needless
from sickbay.surgery.edit_activations import ActivationEditor
from sickbay.surgery.norms_and_dropout import dropout_callers

HOLDERS: tuple[tuple[type[nn.Module], str], ...] = (
    (_DropoutNd, "p"),
    (nn.RNNBase, "dropout"),
    (nn.MultiheadAttention, "dropout"),
)


def lower_dropout(model: nn.Module, example: tuple[Any, ...], p: float = 0.0) -> nn.Module:
    """Return a copy of the model with a dropout of at most `p` everywhere.

    Raises:
        Declined: If there is no more than that, or it cannot be lowered safely.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.9), nn.Linear(4, 1))
        >>> lower_dropout(model, (torch.ones(2, 3),), 0.1)[1]
        Dropout(p=0.1, inplace=False)
    """
    p = check_float("p", p, least=0, most=1)
    editor = ActivationEditor(model, example)
    lowered = [_lower_in(module, p) for module in editor.model.modules()]
    lowered.append(editor.edit_dropout(dropout_callers(editor.forward), lambda now: min(now, p)))
    if not any(lowered):
        raise Needless(f"The dropout is {p:g} or less already.")
    return editor.checked()


def _held(module: nn.Module) -> tuple[str, float]:
    """Return the name and the value of a module's setting for dropout, "" if it has none."""
    for kind, name in HOLDERS:
        if isinstance(module, kind):
            return name, float(getattr(module, name))
    return "", 0.0


def _lower_in(module: nn.Module, p: float) -> bool:
    name, now = _held(module)
    if now > p:
        setattr(module, name, p)
    return now > p
