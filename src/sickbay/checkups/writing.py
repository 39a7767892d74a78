"""Where something is written."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any


def written(thing: Any) -> tuple[str, int]:
    """Return the file of a class or function and its line, relative to here; ("", 1) if elsewhere.

    >>> import torch
    >>> written(torch.nn.Linear)
    ('', 1)
    """
    try:
        file, line = inspect.getsourcefile(thing), inspect.getsourcelines(thing)[1]
        place = Path(file or "").resolve().relative_to(Path.cwd())
    except (OSError, TypeError, ValueError):
        return "", 1
    if file is None or "site-packages" in place.parts:
        return "", 1
    return place.as_posix(), max(1, line)
