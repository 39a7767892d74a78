"""Devices that torch can compute on."""

from __future__ import annotations

import torch

from sickbay.arguments import short_repr
from sickbay.errors import UsageError
from sickbay.printable import error_message


def device(name: str, value: object) -> torch.device:
    """Return a device, as one that may be the current one of several, or say why it is none."""
    try:
        found = torch.device(value)  # type: ignore[call-overload]
        torch.zeros(1, device=found).item()
    except Exception as error:  # a device that is not there raises whatever its driver likes
        given = f"{short_repr(value)}: {error_message(error)}"
        raise UsageError(f"{name} must be one that torch can use here, got {given}") from error
    return torch.empty(0, device=found).device
