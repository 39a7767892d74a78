"""Layers that do something else in training than in evaluation."""

from __future__ import annotations

from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

from sickbay.checkups.unregistered import hidden


def active(model: nn.Module) -> dict[str, nn.Module]:
    """Return the layers of torch that are known to, by name.

    >>> list(active(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.0), nn.Dropout(0.1))))
    ['2']
    """
    return {name: module for name, module in model.named_modules() if _differs(module)}


def stuck(model: nn.Module, training: bool) -> list[str]:
    """Return the layers that are not in this mode, though the model was put into it.

    Layers of the user's own count, as they may ask for the mode. What is frozen may stay in
    evaluation.
    """
    known = active(model)
    lost = [  # layers that the model does not know of keep the mode they were made in
        each
        for each, layer in hidden(model).items()
        if any(part.training is not training for part in active(layer).values())
    ]
    return lost + [
        name or "the model"
        for name, module in model.named_modules()
        if module.training is not training
        and (name in known or not type(module).__module__.startswith("torch."))
        and not (training and _frozen(model, name))
    ]


def _differs(module: nn.Module) -> bool:
    match module:
        case _DropoutNd():
            return module.p > 0
        case _NormBase():
            return bool(module.track_running_stats)
        case nn.RNNBase():
            return module.dropout > 0 and module.num_layers > 1
        case nn.MultiheadAttention():
            return bool(module.dropout > 0)
    return isinstance(module, nn.RReLU)


def _frozen(model: nn.Module, name: str) -> bool:
    """Tell whether the layer is frozen, or what it is part of if it has no parameters itself."""
    while True:
        needed = [each.requires_grad for each in model.get_submodule(name).parameters()]
        if needed or not name:
            return bool(needed) and not any(needed)
        name = name.rpartition(".")[0]
