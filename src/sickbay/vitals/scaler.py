"""Noticing the steps that a gradient scaler drops, which no hook of torch reports."""

from functools import wraps
from typing import Any, Protocol
from weakref import WeakSet

from torch.amp import GradScaler
from torch.optim import Optimizer


class Listener(Protocol):
    """Who wants to know when a scaler steps an optimizer."""

    def before_scaler(self, optimizer: Optimizer) -> None: ...
    def after_scaler(self, optimizer: Optimizer) -> None: ...


_listeners: WeakSet[Listener] = WeakSet()  # weak, so that a forgotten probe can go
_plain_step = GradScaler.step


@wraps(_plain_step)
def _heard_step(self: GradScaler, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
    listeners = list(_listeners) if self.is_enabled() else []
    for listener in listeners:
        listener.before_scaler(optimizer)
    result = _plain_step(self, optimizer, *args, **kwargs)
    for listener in listeners:
        listener.after_scaler(optimizer)
    return result


def listen(listener: Listener) -> None:
    """Tell `listener` of every `GradScaler.step`. While anybody listens the method is wrapped."""
    _listeners.add(listener)
    GradScaler.step = _heard_step  # type: ignore[method-assign]


def forget(listener: Listener) -> None:
    """Stop telling; with the last listener gone the class is as it was."""
    _listeners.discard(listener)
    if not _listeners:
        GradScaler.step = _plain_step  # type: ignore[method-assign]
