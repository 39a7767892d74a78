"""Registering modules that a model keeps in plain lists and dicts, where torch cannot see them."""

from typing import Any

from torch import nn

from sickbay.errors import Needless
from sickbay.model_copies import copy_of


def register_modules(model: nn.Module) -> nn.Module:
    """Return a copy of the model whose plain lists, tuples and dicts of modules are registered.

    Args:
        model: The model, which is not touched.

    Raises:
        Declined: If it has none.

    Example:
        >>> model = nn.Identity()
        >>> model.layers = [nn.Linear(2, 2), nn.ReLU()]
        >>> len(list(model.parameters())), len(list(register_modules(model).parameters()))
        (0, 2)
    """
    result = copy_of(model)
    if not (found := unregistered(result)):
        raise Needless("No module is kept in a plain list, tuple or dict.")
    for part, name, kept in found:
        setattr(part, name, kept)
    return result


def unregistered(model: nn.Module) -> list[tuple[nn.Module, str, nn.Module]]:
    """Return each plain container of modules: whose it is, its name, and what to replace it with.

    >>> unregistered(nn.Sequential(nn.Linear(2, 2)))
    []
    """
    return [
        (part, name, kept)
        for part in model.modules()
        for name, value in vars(part).items()
        if not name.startswith("_") and (kept := registered(value)) is not None
    ]


def registered(value: Any) -> nn.Module | None:
    """Return a plain container of modules as torch's own, None for anything else.

    >>> registered((nn.ReLU(), nn.ReLU())), registered([1, 2]), registered([])
    (ModuleList(
      (0-1): 2 x ReLU()
    ), None, None)
    """
    held = list(value.values()) if type(value) is dict else value
    if type(value) not in (list, tuple, dict) or not held:
        return None
    if not all(isinstance(each, nn.Module) for each in held):
        return None
    if type(value) is not dict:
        return nn.ModuleList(held)
    return nn.ModuleDict(value) if all(isinstance(each, str) for each in value) else None
