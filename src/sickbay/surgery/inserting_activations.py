"""Inserting activations between layers that have none, which are no more than one layer."""

from typing import Any

from torch import nn

from sickbay.errors import Needless
from sickbay.model_copies import checked, copy_of
from sickbay.surgery import torch_operations as ops
from sickbay.surgery.linear_paths import KERNELS, LINEAR, kernel_calls, paths_from
from sickbay.surgery.record_forward import ForwardPass, Operation, record_forward


def insert_activations(model: nn.Module, example: tuple[Any, ...]) -> nn.Module:
    """Return a copy of the model with a ReLU after each hidden layer that has no activation.

    That is a linear or convolution layer whose output goes into another one, with nothing in
    between but norms, dropout, averages and moved values. The layer, or the norm directly behind
    it, becomes `Sequential(layer, ReLU)` under its old name.

    Raises:
        Declined: If no activation is missing, or it cannot be inserted safely.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
        >>> insert_activations(model, (torch.ones(2, 3),))[0]
        Sequential(
          (0): Linear(in_features=3, out_features=4, bias=True)
          (1): ReLU()
        )
    """
    result = copy_of(model)
    forward = record_forward(result, example)
    found = [
        _place(forward, calls)
        for _, calls in kernel_calls(forward)
        if all(_is_bare(forward, call) for call in calls)
    ]
    if not found:
        raise Needless("There is an activation between any two layers already.")
    for path in found:
        _follow_by_relu(result, path)
    return checked(result, model, example)


def _is_bare(forward: ForwardPass, layer: Operation) -> bool:
    paths = paths_from(forward, layer, LINEAR)
    return bool(paths.into) and all(each.name in KERNELS for each in paths.into)


def _place(forward: ForwardPass, calls: list[Operation]) -> str:
    """Return the module that the activation follows: the layer, or the norm directly behind it."""
    path = calls[0].path
    users = list(forward.after(calls[0]))
    if len(calls) == len(users) == 1 and users[0].name in ops.NORMS:
        norm = users[0].path
        if norm != path and ops.is_from_torch(forward.classes[norm]):
            return norm
    return path


def _follow_by_relu(model: nn.Module, path: str) -> None:
    """Put a ReLU behind a module, wherever it is held."""
    module = model.get_submodule(path)
    followed = nn.Sequential(module, nn.ReLU()).train(module.training)
    for parent in [each for each in model.modules() if each is not followed]:
        for name, child in parent._modules.items():
            if child is module:
                parent._modules[name] = followed
