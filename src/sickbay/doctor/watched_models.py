"""Which models are watched. Each has one doctor, or their costs would add up."""

from typing import Protocol
from weakref import WeakKeyDictionary, ref

from torch import nn

TAKEN_OVER = "this model was watched already; its earlier doctor is closed."


class Closable(Protocol):
    """A doctor, or a probe whose doctor is gone."""

    def close(self) -> None: ...


_watched: WeakKeyDictionary[nn.Module, list[ref[Closable]]] = WeakKeyDictionary()


def close_earlier(model: nn.Module) -> bool:
    """Close the doctor that watches a model; return whether there was one."""
    found = [alive for each in _watched.pop(model, []) if (alive := each()) is not None]
    for each in found[:1]:  # a doctor closes its probe
        each.close()
    return bool(found)


def register(model: nn.Module, *watchers: Closable) -> None:
    """Note who watches a model: the doctor first, then the probe, which the hooks keep alive."""
    _watched[model] = [ref(each) for each in watchers]


def unregister(model: nn.Module) -> None:
    """Note that nobody watches a model any more."""
    _watched.pop(model, None)
