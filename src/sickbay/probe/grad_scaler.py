"""Notice the steps that a gradient scaler skips, which no hook of torch reports."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch.amp import GradScaler
from torch.optim import Optimizer

from sickbay.probe.collected import Collected
from sickbay.probe.meter import Meter
from sickbay.probe.method_patch import Patch

if TYPE_CHECKING:
    from sickbay.probe.probe import Probe


def _before(listener: Probe, scaler: GradScaler, fed: Sequence[Any]) -> None:
    if fed and scaler.is_enabled():
        listener.before_scaler(fed[0])


def _after(listener: Probe, scaler: GradScaler, fed: Sequence[Any], _value: Any) -> None:
    if fed and scaler.is_enabled():
        listener.after_scaler(fed[0])


@wraps(GradScaler.step)
def _step(self: GradScaler, *args: Any, **kwargs: Any) -> Any:
    return _patch.call(self, args, kwargs)


_patch = Patch(GradScaler, "step", _step, "probe", before=_before, after=_after)
listen, forget = _patch.listen, _patch.forget


def record_skip(optimizer: Optimizer | None, collected: Collected, meter: Meter) -> bool:
    """Record whether a fused optimizer skips the step; return True if it is known to do so."""
    found_inf = getattr(optimizer, "found_inf", None)
    if found_inf is not None and meter.late:
        collected.late_skips.append(meter.numbers(found_inf))
    elif found_inf is not None and float(found_inf) > 0:
        collected.skipped += 1
        return True
    return False


def factor(optimizer: Optimizer | None) -> Tensor | float:
    """Return what a fused optimizer multiplies gradients by."""
    scale: Tensor | None = getattr(optimizer, "grad_scale", None)
    return 1.0 if scale is None else scale.double().reciprocal()
