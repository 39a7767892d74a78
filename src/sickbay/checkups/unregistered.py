"""Tensors and layers that modules hold in plain attributes, lists or dicts."""

from collections import deque
from collections.abc import Iterator
from math import sqrt
from typing import Any

import torch
from torch import Tensor, nn

MAX_DEPTH = 4  # of nested lists
LEAST = 256  # numbers that show how they are distributed
NORMAL, EVEN = 3.0, 1.8  # mean fourth power of numbers drawn so, divided by their deviation


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
    """Return matrices of random numbers that are not saved: a new model draws others.

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
    return {name: each for name, each in plain if not each.requires_grad and _looks_random(each)}


def _looks_random(values: Tensor) -> bool:
    """Return whether a matrix looks drawn: no value twice, no trend, and a usual distribution."""
    if values.ndim < 2 or values.numel() < LEAST or not values.is_floating_point():
        return False
    known = values.detach().double().cpu().flatten(1)
    known = (known - known.mean()) / known.std().clamp(min=1e-12)
    if not known.isfinite().all() or len(torch.unique(known.abs())) < 0.95 * known.numel():
        return False
    error = 1 / sqrt(known.numel())  # of a mean
    pairs = (known[1:] * known[:-1], known[:, 1:] * known[:, :-1])
    trend = max(abs(each.mean().item()) if each.numel() else 0.0 for each in pairs)
    if max(trend, abs(known.pow(3).mean().item()) / 4) > 5 * error:
        return False
    peak = known.pow(4).mean().item()
    return abs(peak - NORMAL) < 25 * error or abs(peak - EVEN) < 5 * error


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
