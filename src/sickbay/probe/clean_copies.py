"""Keep our hooks out of copied and pickled models.

While anyone watches, `nn.Module` has our `__getstate__`, which drops our hooks from the state.
So `torch.save` writes the same file as without us.
"""

from collections import OrderedDict
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from torch import nn

from sickbay.probe.hooks import FORWARD_HOOKS, Hook

FLAGS = (
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks_with_kwargs",
)

_watchers: WeakSet[Any] = WeakSet()
_before: Any = None  # the `__getstate__` before ours; None for Python's own


def keep_clean(watcher: object) -> None:
    """Keep copies clean until `forget(watcher)`."""
    global _before
    _watchers.add(watcher)
    now = vars(nn.Module).get("__getstate__")
    if now is not _state:
        _before = now
        nn.Module.__getstate__ = _state  # type: ignore[method-assign]


def forget(watcher: object) -> None:
    """Stop keeping copies clean; the last watcher restores the class."""
    _watchers.discard(watcher)
    if _watchers or vars(nn.Module).get("__getstate__") is not _state:
        return
    if _before is None:
        del nn.Module.__getstate__
    else:
        nn.Module.__getstate__ = _before  # type: ignore[method-assign]


def _state(self: nn.Module) -> Any:
    usual = (_before or getattr(object, "__getstate__", vars))(self)  # Python 3.10 has none
    with suppress(Exception):  # a copy with idle hooks is better than none
        held, *slots = usual if isinstance(usual, tuple) else (usual,)
        hooks = [pair for name in FORWARD_HOOKS for pair in held.get(name, {}).items()]
        if ours := {key for key, hook in hooks if isinstance(hook, Hook)}:
            clean = dict(held)
            for name in (*FORWARD_HOOKS, *FLAGS):
                kept = [pair for pair in held.get(name, {}).items() if pair[0] not in ours]
                clean[name] = OrderedDict(kept)
            return (clean, *slots) if slots else clean
    return usual
