"""Where something is written."""

from __future__ import annotations

import inspect
import sysconfig
from pathlib import Path
from traceback import walk_tb
from typing import Any

import sickbay

# Where code is that is not the user's.
FOREIGN = (
    str(Path(sickbay.__file__).parent),
    *(sysconfig.get_path(each) for each in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<",  # not from a file: frozen, or made on the way
)


def written(thing: Any) -> tuple[str, int]:
    """Return the file of a class or function and its line, relative to here; ("", 1) if elsewhere.

    >>> import torch
    >>> written(torch.nn.Linear)
    ('', 1)
    """
    try:
        file, line = inspect.getsourcefile(thing), inspect.getsourcelines(thing)[1]
        place = Path(file or "").resolve().relative_to(Path.cwd())
    except (OSError, TypeError, ValueError, SyntaxError):  # built in, gone, or changed since
        return "", 1
    if file is None or "site-packages" in place.parts:
        return "", 1
    return place.as_posix(), max(1, line)


def raised_at(error: BaseException) -> str:
    """Return the innermost line of the user's own code that an error came through, as FILE:LINE.

    It is "" if there is none.

    >>> raised_at(ValueError())
    ''
    """
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{error.filename}:{error.lineno}"
    places = [(each.f_code.co_filename, line) for each, line in walk_tb(error.__traceback__)]
    own = [f"{file}:{line}" for file, line in places if not file.startswith(FOREIGN)]
    return own[-1] if own else ""
