"""Checks that need torch, and errors of others as the end of a sentence."""

from __future__ import annotations

from typing import Any

import torch

from sickbay.arguments import quoted, whole
from sickbay.errors import UsageError
from sickbay.printable import one_line


def count(name: str, value: object) -> int:
    """Return a number of things, such as epochs or samples in a batch."""
    return whole(name, value, least=1)


def check_device(device: Any) -> torch.device | None:
    """Return the device, or say why torch cannot compute there."""
    if device is None:
        return None
    try:
        found = torch.device(device)
        torch.zeros(1, device=found).item()
    except Exception as error:  # a device that is not there raises whatever its driver likes
        raise UsageError(
            f"device must be one that torch can use here, got {quoted(device)}: {said(error)}"
        ) from error
    return found


def said(error: BaseException) -> str:
    r"""Return the line of an error that says most, as the end of a sentence.

    That is the last one; CUDA ends its errors with advice.

    >>> said(RuntimeError("CUDA error: out of paper\nCompile with `DSA`."))
    'CUDA error: out of paper.'
    """
    try:
        lines = str(error).strip().splitlines() or [type(error).__name__]
    except Exception:  # an exception of somebody's own that has no text
        lines = [type(error).__name__]
    line = lines[0] if lines[0].startswith("CUDA error") else lines[-1]
    return one_line(line).rstrip(".") + "."
