"""Adding dropout, as against overfitting."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from sickbay.arguments import check_float
from sickbay.errors import Declined
from sickbay.surgery.edit_activations import ActivationEditor, Change, NewModule
from sickbay.surgery.inserting_norms import channel_dims
from sickbay.surgery.record_forward import ForwardPass
from sickbay.surgery.torch_operations import DROPOUTS, is_from_torch

MOST = 0.5
KINDS = {0: nn.Dropout, 1: nn.Dropout1d, 2: nn.Dropout2d, 3: nn.Dropout3d}


def add_dropout(model: nn.Module, example: tuple[Any, ...], p: float) -> nn.Module:
    """Return a copy of the model with more dropout.

    Raise the dropout that is there by `p`, up to 0.5. If there is none, add some after each hidden
    activation, by whole channels after convolutions.

    Raises:
        Declined: If there is no place for it, or no room for more.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        >>> add_dropout(model, (torch.ones(2, 3),), 0.25)[1][1]
        Dropout(p=0.25, inplace=False)
    """
    p = check_float("p", p, above=0, most=MOST)
    editor = ActivationEditor(model, example)
    layers, callers = _dropout_layers(editor), _dropout_callers(editor.forward)
    if layers or callers:
        raised = [editor.raise_dropout(callers, p, MOST), *(_raise(layer, p) for layer in layers)]
        if not any(raised):
            raise Declined(f"The dropout is {MOST} or more already.")
        return editor.checked()
    changes = {
        call.index: Change(after=NewModule(KINDS[channel_dims(editor.forward, call)], (p,)))
        for call in editor.editable_calls()
    }
    if not changes:
        raise Declined("There is no hidden activation that dropout could follow.")
    editor.apply(changes)
    return editor.checked()


def _dropout_layers(editor: ActivationEditor) -> list[nn.Module]:
    """Return the layers with dropout, or those recurrent ones that could have it."""
    used = {operation.path for operation in editor.forward.operations}
    modules = [module for name, module in editor.model.named_modules() if name in used]
    found = [each for each in modules if isinstance(each, _DropoutNd)]
    stacked = [each for each in modules if isinstance(each, nn.RNNBase) and each.num_layers > 1]
    if found or any(each.dropout for each in stacked) or not editor.hidden():
        return [*found, *stacked]
    return []


def _dropout_callers(forward: ForwardPass) -> list[str]:
    """Return the modules that call dropout as a function."""
    found = {operation.path for operation in forward.operations if operation.name in DROPOUTS}
    return [
        path
        for path, kind in forward.classes.items()
        if path in found and not is_from_torch(kind) and not issubclass(kind, _DropoutNd)
    ]


def _raise(layer: nn.Module, p: float) -> bool:
    name = "dropout" if isinstance(layer, nn.RNNBase) else "p"
    now = float(getattr(layer, name))
    setattr(layer, name, max(now, min(now + p, MOST)))
    return now < MOST
