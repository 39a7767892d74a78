"""What the command line names in the user's own code, which may raise anything."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from sickbay.checkups.source_location import raised_at
from sickbay.errors import UsageError, unknown_name
from sickbay.printable import error_summary

MISSING = object()


def named(name: str) -> Any:
    """Return what is called `package.module:name`."""
    module, _, path = name.partition(":")
    if not all(each.isidentifier() for each in (*module.split("."), *path.split("."))):
        raise UsageError(f"A function is named as package.module:function, got {name!r}.")
    found = _imported(module)
    for part in path.split("."):
        with theirs(f"{part!r} of {module!r}"):
            inner = getattr(found, part, MISSING)
            possible = [each for each in dir(found) if not each.startswith("_")]
        if inner is MISSING:
            raise unknown_name(f"name in {module}", part, possible)
        found = inner
    return found


def called(name: str) -> Any:
    """Return what a named function returns, or the named thing itself if it is none."""
    found = named(name)
    if not callable(found) or isinstance(found, nn.Module):
        return found
    with theirs(name):
        return found()


@contextmanager
def theirs(what: str) -> Iterator[None]:
    """Run code of the user's: whatever it raises becomes a sentence that says what and where."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: a script may end itself where it is imported
        place = raised_at(error)
        where = f" (at {place})" if place else ""
        raise UsageError(f"{what} raised {error_summary(error)}{where}.") from error


def _imported(module: str) -> Any:
    here = _here()
    if here not in sys.path:
        sys.path.insert(0, here)
    with theirs(f"Importing {module!r}"):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
            missing = error.name
    raise UsageError(f"There is no module {missing!r} here ({here}).")


def _here() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        raise UsageError(f"The folder this runs in is gone ({error_summary(error)}).") from None
