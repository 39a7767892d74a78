"""What a checkup must leave as it was: the model, its gradients, loss, batch, random numbers."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from inspect import getclosurevars
from types import FunctionType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.checkup.case import Inputs
from sickbay.model_copies import tensors_in

Parts = dict[str, Any]
DEPTH = 5  # of nested values


def parts_of(given: Inputs) -> Parts:
    """Return copies of everything that must stay the same, by what it is."""
    model = given.model
    random_states = {
        "torch": torch.get_rng_state().clone(),
        "numpy": np.random.get_state(legacy=False),
        "python": random.getstate(),
    }
    return {
        "state dict": copies(model.state_dict()),
        "buffers": copies(dict(model.named_buffers())),
        "gradients": {name: copied(each.grad) for name, each in model.named_parameters()},
        "trained parameters": {name: each.requires_grad for name, each in model.named_parameters()},
        "modes": {name: each.training for name, each in model.named_modules()},
        "hooks": {name: hooks_of(each) for name, each in model.named_modules()},
        "plain attributes": {name: attributes_of(each) for name, each in model.named_modules()},
        "loss": held_by(given.loss),
        "batch": [copied(each) for each in tensors_in(given.batch)],
        "random numbers": random_states,
    }


def changed(before: Parts, given: Inputs) -> list[str]:
    """Return what is no longer as it was."""
    after = parts_of(given)
    return [name for name, part in before.items() if not same(part, after[name])]


def copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value


def copies(tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {name: copied(value) for name, value in tensors.items()}


def attributes_of(module: nn.Module) -> Parts:
    """Return copies of what a module holds beside parameters, buffers, layers and hooks."""
    of_torch = vars(nn.Module())
    return {name: held_by(value) for name, value in vars(module).items() if name not in of_torch}


def held_by(value: Any, depth: int = DEPTH) -> Any:
    """Return a copy of what a value holds: of other objects their attributes, or only their type.

    >>> held_by({"a": [torch.zeros(2), 3]})
    {"'a'": [tensor([0., 0.]), 3]}
    """
    if value is None or isinstance(value, Tensor | str | int | float | complex):
        return copied(value)
    if isinstance(value, np.ndarray):
        return value.copy()
    if not depth:
        return type(value).__name__
    if isinstance(value, nn.Module):
        layers = value.named_modules()
        own = {name: held_by(vars(each), depth - 1) for name, each in layers}
        return [copies(value.state_dict()), own]
    if isinstance(value, Mapping):
        return {repr(key): held_by(each, depth - 1) for key, each in value.items()}
    if isinstance(value, list | tuple | deque):
        return [held_by(each, depth - 1) for each in value]
    if isinstance(value, partial):
        return [held_by(each, depth - 1) for each in (value.func, value.args, value.keywords)]
    if isinstance(value, FunctionType):
        return [held_by(each, depth - 1) for each in getclosurevars(value).nonlocals.values()]
    return held_by(getattr(value, "__dict__", type(value).__name__), depth - 1)


def hooks_of(module: nn.Module) -> int:
    """Return how many hooks a module has."""
    return len(module._forward_hooks) + len(module._forward_pre_hooks) + len(module._backward_hooks)


def same(one: Any, other: Any) -> bool:
    """Return whether two nested values are equal, NaN included.

    >>> same({"a": torch.tensor([float("nan")])}, {"a": torch.tensor([float("nan")])})
    True
    >>> same([1, torch.zeros(2)], [1, torch.ones(2)])
    False
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, Tensor):
        return same_tensor(one, other)
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) or (one != one and other != other)  # NaN


def same_tensor(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype or one.layout != other.layout:
        return False
    if one.layout != torch.strided:
        return same_tensor(one.to_dense(), other.to_dense())
    equal: Callable[..., bool] = torch.allclose
    exact = {"rtol": 0.0, "atol": 0.0, "equal_nan": True}
    return equal(one, other, **exact) if one.is_floating_point() else torch.equal(one, other)
