"""Notice the steps that a gradient scaler skips, which no hook of torch reports."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from typing import Any

from torch import Tensor
from torch.amp import GradScaler
from torch.optim import Optimizer

from sickbay.probe.collected import Collected
from sickbay.probe.meter import Meter
from sickbay.probe.method_patch import Patch


def _before(listener: Any, scaler: GradScaler, fed: Sequence[Any]) -> None:
    if fed and scaler.is_enabled():
        listener.before_scaler(fed[0])


def _after(listener: Any, scaler: GradScaler, fed: Sequence[Any], _value: Any) -> None:
    if fed and scaler.is_enabled():
        listener.after_scaler(fed[0])


@wraps(GradScaler.step)
def _step(self: GradScaler, *args: Any, **kwargs: Any) -> Any:
    return _patch.call(self, args, kwargs)


_patch = Patch(GradScaler, "step", _step, "probe", before=_before, after=_after)
listen, forget = _patch.listen, _patch.forget


def factor(
    optimizer: Optimizer | None, collected: Collected, meter: Meter
) -> Tensor | float | None:
    """Return what a fused optimizer multiplies gradients by, None if it skips the step."""
    found_inf = getattr(optimizer, "found_inf", None)
    if found_inf is not None and meter.late:
        collected.late_skips.append(meter.numbers(found_inf))
    elif found_inf is not None and float(found_inf) > 0:
        collected.skipped += 1
        return None
    scale: Tensor | None = getattr(optimizer, "grad_scale", None)
    return 1.0 if scale is None else scale.double().reciprocal()
