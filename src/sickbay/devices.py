"""Devices that torch can compute on."""

from __future__ import annotations

import torch

from sickbay.arguments import quoted
from sickbay.errors import UsageError
from sickbay.printable import said


def device(name: str, value: object) -> torch.device:
    """Return a device, as one that may be the current one of several, or say why it is none."""
    try:
        found = torch.device(value)  # type: ignore[call-overload]
        torch.zeros(1, device=found).item()
    except Exception as error:  # a device that is not there raises whatever its driver likes
        raise UsageError(
            f"{name} must be one that torch can use here, got {quoted(value)}: {said(error)}"
        ) from error
    return torch.empty(0, device=found).device
