"""More dropout, as against overfitting."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from sickbay.arguments import check_float
from sickbay.errors import Declined
from sickbay.model_copies import checked, copy_of
from sickbay.surgery.activation_sites import hidden, sites
from sickbay.surgery.change_activations import DROPOUTS, Surgeon, unshare
from sickbay.surgery.forward_pass import Flow, examine
from sickbay.surgery.new_modules import Change, Part
from sickbay.surgery.normalisation import image_dims
from sickbay.surgery.torch_names import from_torch

MOST = 0.5
KINDS = {0: nn.Dropout, 1: nn.Dropout1d, 2: nn.Dropout2d, 3: nn.Dropout3d}


def add_dropout(model: nn.Module, example: tuple[Any, ...], p: float) -> nn.Module:
    """Return a copy of the model with more dropout.

    What dropout there is gets `p` more, up to 0.5; if there is none, some comes after each hidden
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
    result = copy_of(model)
    unshare(result)
    flow = examine(result, example)
    present, owners = _layers(result, flow), _callers(flow)
    if present or owners:
        raised = Surgeon(result, example, flow).raise_dropout(owners, p, MOST)
        if not _raise(present, p) and not raised:
            raise Declined(f"The dropout is {MOST} or more already.")
    else:
        _insert(result, example, flow, p)
    return checked(result, model, example)


def _layers(model: nn.Module, flow: Flow) -> list[nn.Module]:
    """Return the layers with dropout; of the recurrent ones those with a place for it."""
    used = {each.path for each in flow.operations}
    modules = [module for name, module in model.named_modules() if name in used]
    found = [each for each in modules if isinstance(each, _DropoutNd)]
    between = [each for each in modules if isinstance(each, nn.RNNBase) and each.num_layers > 1]
    if found or any(each.dropout for each in between):
        return [*found, *between]
    return list(between) if not any(hidden(flow, site) for site in sites(flow)) else []


def _callers(flow: Flow) -> list[str]:
    """Return the modules that call dropout as a function."""
    found = {each.path for each in flow.operations if each.name in DROPOUTS}
    return [
        path
        for path, kind in flow.kinds.items()
        if path in found and not from_torch(kind) and not issubclass(kind, _DropoutNd)
    ]


def _raise(present: list[nn.Module], p: float) -> bool:
    raised = False
    for module in present:
        name = "dropout" if isinstance(module, nn.RNNBase) else "p"
        now = float(getattr(module, name))
        if now < MOST:
            setattr(module, name, min(now + p, MOST))
            raised = True
    return raised


def _insert(model: nn.Module, example: tuple[Any, ...], flow: Flow, p: float) -> None:
    changes = {
        each.index: Change(after=Part(KINDS[image_dims(flow, each)], (p,)))
        for site in sites(flow)
        if site.way != "recurrent"
        for each in hidden(flow, site)
    }
    if not changes:
        raise Declined("There is no hidden activation that dropout could follow.")
    Surgeon(model, example, flow).apply(changes)
