"""Noticing the steps that a gradient scaler drops, which no hook of torch reports."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from torch.amp import GradScaler
from torch.optim import Optimizer

Listener = Callable[[Optimizer], None]

_listeners: list[tuple[Listener, Listener]] = []
_plain_step = GradScaler.step


@wraps(_plain_step)
def _heard_step(self: GradScaler, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
    listeners = list(_listeners)
    for before, _ in listeners:
        before(optimizer)
    result = _plain_step(self, optimizer, *args, **kwargs)
    for _, after in listeners:
        after(optimizer)
    return result


def listen(before: Listener, after: Listener) -> Callable[[], None]:
    """Call `before` and `after` around every `GradScaler.step`; return how to stop that.

    While anybody listens the method is wrapped; with the last one gone the class is as it was.
    """
    entry = (before, after)
    _listeners.append(entry)
    GradScaler.step = _heard_step  # type: ignore[method-assign]

    def stop() -> None:
        if entry in _listeners:
            _listeners.remove(entry)
        if not _listeners:
            GradScaler.step = _plain_step  # type: ignore[method-assign]

    return stop
