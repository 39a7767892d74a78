"""Tensors and layers that modules hold in plain attributes, lists or dicts."""

from collections import deque
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from sickbay.checkups.looks_random import looks_random

MAX_DEPTH = 4  # of nested lists


def unregistered(model: nn.Module) -> dict[str, Tensor]:
    """Return the trainable tensors that are no parameters of the model, by name.

    >>> model = nn.Linear(1, 1)
    >>> model.more = [nn.Linear(1, 1, bias=False)]
    >>> list(unregistered(model))
    ['more[0].weight']
    """
    known = {id(each) for each in model.parameters()}
    found: dict[str, Tensor] = {}
    for name, tensor in plain_tensors(model):
        if tensor.requires_grad and tensor.is_leaf and id(tensor) not in known:
            known.add(id(tensor))
            found[name] = tensor
    return found


def random_constants(model: nn.Module) -> dict[str, Tensor]:
    """Return matrices that look random and are not saved: a new model may draw others.

    >>> import torch
    >>> _, model = torch.manual_seed(0), nn.Linear(1, 1)
    >>> model.drawn, model.table = torch.randn(20, 20), torch.arange(400.0).view(20, 20)
    >>> list(random_constants(model))
    ['drawn']
    """
    known = {id(each) for each in (*model.parameters(), *model.buffers())}
    plain = [(name, each) for name, each in plain_tensors(model) if id(each) not in known]
    saved = model.state_dict()
    plain += [(name, each) for name, each in model.named_buffers() if name not in saved]
    return {name: each for name, each in plain if not each.requires_grad and looks_random(each)}


def plain_tensors(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield every tensor that modules hold as a plain attribute, with its name."""
    for name, value in _plain_attributes(model):
        if isinstance(value, Tensor):
            yield name, value
        else:
            yield from ((f"{name}.{each}", part) for each, part in value.named_parameters())


def unregistered_layers(model: nn.Module) -> dict[str, nn.Module]:
    """Return the layers that a model holds in plain lists, dicts or tuples, by name.

    >>> model = nn.Linear(1, 1)
    >>> model.more = [nn.Dropout()]
    >>> list(unregistered_layers(model))
    ['more[0]']
    """
    found = _plain_attributes(model)
    return {name: value for name, value in found if isinstance(value, nn.Module)}


def _plain_attributes(model: nn.Module) -> Iterator[tuple[str, Tensor | nn.Module]]:
    of_torch = vars(nn.Module())
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            if name not in of_torch:
                yield from _nested(value, f"{path}.{name}" if path else name, MAX_DEPTH)


def _nested(value: Any, name: str, depth: int) -> Iterator[tuple[str, Tensor | nn.Module]]:
    if isinstance(value, Tensor | nn.Module):
        yield name, value
    elif isinstance(value, deque) and value.maxlen is None:
        yield from _nested(list(value), name, depth)
    elif isinstance(value, dict | list | tuple) and depth:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in items:
            yield from _nested(each, f"{name}[{key!r}]", depth - 1)
