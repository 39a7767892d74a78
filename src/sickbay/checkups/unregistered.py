"""Trainable tensors that a model holds but does not know of, as layers in a plain list."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

DEEP = 4  # lists in lists


def unregistered(model: nn.Module) -> dict[str, Tensor]:
    """Return them by name.

    >>> model = nn.Linear(1, 1)
    >>> model.more = [nn.Linear(1, 1, bias=False)]
    >>> list(unregistered(model))
    ['more[0].weight']
    """
    known = {id(each) for each in model.parameters()}
    found: dict[str, Tensor] = {}
    for name, each in beside(model):
        if each.requires_grad and each.is_leaf and id(each) not in known:
            known.add(id(each))
            found[name] = each
    return found


def beside(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield every tensor that modules hold as plain attributes, with its name."""
    for name, value in _held(model):
        if isinstance(value, Tensor):
            yield name, value
        else:
            yield from ((f"{name}.{each}", part) for each, part in value.named_parameters())


def hidden(model: nn.Module) -> dict[str, nn.Module]:
    """Return the layers that a model holds in plain lists, dicts or tuples, by name.

    >>> model = nn.Linear(1, 1)
    >>> model.more = [nn.Dropout()]
    >>> list(hidden(model))
    ['more[0]']
    """
    return {name: value for name, value in _held(model) if isinstance(value, nn.Module)}


def _held(model: nn.Module) -> Iterator[tuple[str, Tensor | nn.Module]]:
    own = vars(nn.Module())
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            if name not in own:
                yield from _in(value, f"{path}.{name}" if path else name, DEEP)


def _in(value: Any, name: str, deep: int) -> Iterator[tuple[str, Tensor | nn.Module]]:
    if isinstance(value, Tensor | nn.Module):
        yield name, value
    elif isinstance(value, deque) and value.maxlen is None:
        yield from _in(list(value), name, deep)
    elif isinstance(value, dict | list | tuple) and deep:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in items:
            yield from _in(each, f"{name}[{key!r}]", deep - 1)
