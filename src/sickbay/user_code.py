"""Importing, running and locating the user's code, which may raise anything."""

import importlib
import inspect
import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from typing import Any

from torch import nn

from sickbay.errors import UsageError, unknown_name
from sickbay.printable import error_summary

MISSING = object()
# Paths of code that is not the user's.
FOREIGN = (
    str(Path(__file__).parent),  # sickbay itself
    *(sysconfig.get_path(each) for each in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<",  # frozen or generated code
)


def load(name: str) -> Any:
    """Return the object called `package.module:name`."""
    module, _, path = name.partition(":")
    if not all(each.isidentifier() for each in (*module.split("."), *path.split("."))):
        raise UsageError(f"A function must be named as package.module:function, got {name!r}.")
    found = _import(module)
    for part in path.split("."):
        with errors_explained(f"{part!r} of {module!r}"):
            inner = getattr(found, part, MISSING)
            possible = [each for each in dir(found) if not each.startswith("_")]
        if inner is MISSING:
            raise unknown_name(f"name in {module} called", part, possible)
        found = inner
    return found


def call(name: str) -> Any:
    """Return the result of a named function, or the named object itself if it is none."""
    found = load(name)
    if not callable(found) or isinstance(found, nn.Module):
        return found
    with errors_explained(name):
        return found()


@contextmanager
def errors_explained(what: str) -> Iterator[None]:
    """Turn any exception of the user's code into a `UsageError` that says what raised and where."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: a script may exit when it is imported
        place = raised_at(error)
        where = f" (at {place})" if place else ""
        raise UsageError(f"{what} raised {error_summary(error)}{where}.") from error


@contextmanager
def exits_explained() -> Iterator[None]:
    """Turn an attempt of the user's code to end the program into a `UsageError`."""
    try:
        yield
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # rich ends the program so
            raise
        with errors_explained("The model, the loss or the data"):
            raise


def defined_at(thing: Any) -> tuple[str, int]:
    """Return the file, relative to the current folder, and line of a class or function.

    It is ("", 1) for code from elsewhere.

    >>> import torch
    >>> defined_at(torch.nn.Linear)
    ('', 1)
    """
    try:
        file, line = inspect.getsourcefile(thing), inspect.getsourcelines(thing)[1]
        place = Path(file or "").resolve().relative_to(Path.cwd())
    except (OSError, TypeError, ValueError, SyntaxError):  # built in, deleted, or changed since
        return "", 1
    if file is None or "site-packages" in place.parts:
        return "", 1
    return place.as_posix(), max(1, line)


def raised_at(error: BaseException) -> str:
    """Return the innermost line of the user's code in an error as FILE:LINE, "" if there is none.

    >>> raised_at(ValueError())
    ''
    """
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{error.filename}:{error.lineno}"
    places = [(each.f_code.co_filename, line) for each, line in walk_tb(error.__traceback__)]
    own = [f"{file}:{line}" for file, line in places if not file.startswith(FOREIGN)]
    return own[-1] if own else ""


def _import(module: str) -> Any:
    try:
        folder = os.getcwd()
    except OSError as error:
        reason = error_summary(error)
        raise UsageError(f"The current folder no longer exists ({reason}).") from None
    if folder not in sys.path:
        sys.path.insert(0, folder)
    with errors_explained(f"Importing {module!r}"):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
            missing = error.name
    raise UsageError(f"There is no module {missing!r} in {folder}.")
