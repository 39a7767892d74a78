"""How far the memory of this process grows, on Linux."""

from __future__ import annotations

import re
from pathlib import Path

PROCESS = Path("/proc/self")


def forget_peak() -> None:
    """Make the peak what is used now."""
    file = PROCESS / "clear_refs"
    if file.exists():
        file.write_text("5")


def used() -> float | None:
    """Return the megabytes in use, None if the system does not tell."""
    return _status("VmRSS")


def peak() -> float | None:
    """Return the most megabytes in use since `forget_peak`."""
    return _status("VmHWM")


def _status(name: str) -> float | None:
    file = PROCESS / "status"
    found = re.search(rf"{name}:\s+(\d+) kB", file.read_text()) if file.exists() else None
    return int(found[1]) / 1024 if found else None
