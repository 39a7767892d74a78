"""Hear of a loss right before backward, while its graph still has what it compares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from sickbay.probe.method_patch import Patch

if TYPE_CHECKING:
    from sickbay.probe.batch import Batch


def _before(listener: Batch, loss: Tensor, _fed: Sequence[Any]) -> None:
    listener.before_backward(loss)


def _backward(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    return _patch.call(self, args, kwargs)


_patch = Patch(Tensor, "backward", _backward, "batch", before=_before)
listen, forget = _patch.listen, _patch.forget
