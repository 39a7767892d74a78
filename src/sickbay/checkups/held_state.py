"""All that a model or a loss holds and that may change, also in closures and plain objects."""

import random
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import ProxyTypes

import numpy as np
from torch import Generator, Tensor, nn
from torch.optim import Optimizer

ATOMS = (str, bytes, int, float, complex, type, ModuleType, type(None))
KINDS = (
    *(Tensor, nn.Module, Generator, Optimizer, list, dict, set, deque, np.ndarray),
    *(np.random.Generator, np.random.RandomState, random.Random, FunctionType, CellType),
)
OPEN = {"collections", "types", "argparse"}  # parts of Python whose objects may be changed
CLOSED = (sys.stdlib_module_names - OPEN) | {"torch", "numpy", "sickbay"}


def held_by(*owners: Any) -> dict[int, Any]:
    """Return all that can change and is reachable from its owners, themselves included, by `id`.

    >>> layer = nn.Linear(1, 1)
    >>> id(layer.weight) in held_by(layer.forward), held_by(3, 'text')
    (True, {})
    """
    seen: dict[int, Any] = {}
    waiting = list(owners)
    while waiting:
        value = waiting.pop()
        if type(value) in ProxyTypes or isinstance(value, ATOMS):
            continue
        if id(value) not in seen:
            seen[id(value)] = value
            waiting += _contents(value)
    return {key: value for key, value in seen.items() if _may_change(value)}


def attributes_of(value: Any) -> dict[str, Any] | None:
    """Return the dict of an object's attributes, None if it has none."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return found if isinstance(found, dict) else None


def held_by_both(one: Any, other: Any) -> list[Any]:
    """Return what can change and is held by both."""
    known = held_by(other)
    return [each for key, each in held_by(one).items() if key in known]


def _contents(value: Any) -> Iterator[Any]:
    """Yield what an object holds directly."""
    match value:
        case dict():
            yield from list(value.values())
        case list() | tuple() | set() | frozenset() | deque():
            yield from list(value)
        case nn.Module():  # a scripted one has no attributes that hold them
            yield from value.parameters(recurse=False)
            yield from value.buffers(recurse=False)
            yield from value.children()
        case MethodType():
            yield from (value.__self__, value.__func__)
        case partial():
            yield from (value.func, value.args, value.keywords)
        case FunctionType():
            yield from (value.__defaults__, value.__kwdefaults__, value.__closure__)
        case CellType():
            yield from _inside(value)
    if _is_open(value):
        yield from list((attributes_of(value) or {}).values())


def _inside(cell: CellType) -> Iterable[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:  # it is empty
        return []


def _is_open(value: Any) -> bool:
    """Return whether the attributes of an object are the user's, and not those of a library."""
    package = type(value).__module__.partition(".")[0]
    return isinstance(value, KINDS) or package not in CLOSED


def _may_change(value: Any) -> bool:
    return isinstance(value, KINDS) or (_is_open(value) and attributes_of(value) is not None)
