"""Leaving our hooks out of whatever is copied or pickled.

While anybody watches, `nn.Module` has a `__getstate__`. It returns what Python returns by itself,
without our hooks: so a file that `torch.save` writes is the file that it writes without us.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any
from weakref import WeakSet

from torch import nn

from sickbay.vitals.hooks import Hook

HOOKS = ("_forward_hooks", "_forward_pre_hooks")
FLAGS = (
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks_with_kwargs",
)

_watchers: WeakSet[Any] = WeakSet()  # weak, so that a forgotten one can go


def keep_clean(watcher: object) -> None:
    """Keep copies clean as long as `watcher` watches."""
    _watchers.add(watcher)
    if "__getstate__" not in vars(nn.Module):
        nn.Module.__getstate__ = _state  # type: ignore[method-assign, assignment]


def forget(watcher: object) -> None:
    """Stop that; with the last watcher gone the class is as it was."""
    _watchers.discard(watcher)
    if not _watchers and vars(nn.Module).get("__getstate__") is _state:
        del nn.Module.__getstate__


def _state(self: nn.Module) -> Any:
    usual = getattr(object, "__getstate__", vars)(self)  # Python 3.10 has none
    held, *slots = usual if isinstance(usual, tuple) else (usual,)
    hooks = [pair for name in HOOKS for pair in held.get(name, {}).items()]
    ours = {key for key, hook in hooks if isinstance(hook, Hook)}
    if not ours:
        return usual
    clean = dict(held)
    for name in (*HOOKS, *FLAGS):
        kept = [pair for pair in held.get(name, {}).items() if pair[0] not in ours]
        clean[name] = OrderedDict(kept)
    return (clean, *slots) if slots else clean
