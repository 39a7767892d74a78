"""Noticing the steps that a gradient scaler drops, which no hook of torch reports."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from typing import Any, Protocol
from weakref import WeakSet

from torch.amp import GradScaler
from torch.optim import Optimizer

from sickbay.vitals.guard import Guard
from sickbay.vitals.patch import Patch


class Listener(Protocol):
    """Who wants to know when a scaler steps an optimizer."""

    guard: Guard

    def before_scaler(self, optimizer: Optimizer) -> None: ...
    def after_scaler(self, optimizer: Optimizer) -> None: ...


_listeners: WeakSet[Listener] = WeakSet()  # weak, so that a forgotten probe can go


def listen(listener: Listener) -> None:
    """Tell `listener` of every `GradScaler.step`. While anybody listens the method is wrapped."""
    _listeners.add(listener)
    _patch.put_on()


def forget(listener: Listener) -> None:
    """Stop telling; with the last listener gone the class is as it was."""
    _listeners.discard(listener)
    if not _listeners:
        _patch.take_off()


def _before(scaler: GradScaler, fed: Sequence[Any]) -> None:
    for listener in list(_listeners) if scaler.is_enabled() else ():
        listener.guard.run("probe", listener.before_scaler, fed[0])


def _after(scaler: GradScaler, fed: Sequence[Any], _value: Any) -> None:
    for listener in list(_listeners) if scaler.is_enabled() else ():
        listener.guard.run("probe", listener.after_scaler, fed[0])


@wraps(GradScaler.step)
def _step(self: GradScaler, *args: Any, **kwargs: Any) -> Any:
    return _patch.call(self, args, kwargs)


_patch = Patch(GradScaler, "step", _step, before=_before, after=_after)
