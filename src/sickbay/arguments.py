"""Checking arguments: whatever cannot be used gets one sentence, before anything is touched.

Every function takes the argument's name and value, and returns the value as the plain type that
its name says. Numbers may be numpy's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite, isnan, nan
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from sickbay.errors import UsageError, unknown_name

LARGEST = 2**63 - 1  # what fits into 64 bits, as torch and numpy count
SHOWN = 80  # characters of a value that an error quotes


def check_int(
    name: str, value: object, *, least: int | None = None, most: int | None = None
) -> int:
    """Return a whole number within bounds.

    >>> check_int("epochs", 0, least=1)
    Traceback (most recent call last):
    sickbay.errors.UsageError: epochs must be a whole number of at least 1, got 0.
    """
    possible = f"a whole number{_bounds(least=least, most=most)}"
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise bad_argument(name, possible, value)
    plain = int(value)
    if not _is_within(plain, least=least, most=most):
        raise bad_argument(name, possible, value)
    if most is None and abs(plain) > LARGEST:
        raise bad_argument(name, "a whole number below 2**63", value)
    return plain


def check_float(
    name: str,
    value: object,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    infinite: bool = False,
) -> float:
    """Return a number within bounds; never NaN, and infinite only where that makes sense.

    >>> check_float("budget", "1", above=0)
    Traceback (most recent call last):
    sickbay.errors.UsageError: budget must be a number above 0, got '1'.
    """
    bounds = _bounds(above=above, least=least, most=most)
    if not isinstance(value, Real) or isinstance(value, bool):
        raise bad_argument(name, f"a number{bounds}", value)
    try:
        plain = float(value)
    except Exception:  # an int too large for a float, or a Real that is none
        raise bad_argument(name, f"a number{bounds}", value) from None
    fits = not isnan(plain) if infinite else isfinite(plain)
    if not fits or not _is_within(plain, above=above, least=least, most=most):
        kind = "number" if infinite or most is not None else "finite number"
        raise bad_argument(name, f"a {kind}{bounds}", value)
    return plain


def check_any_float(name: str, value: object) -> float:
    """Return a number, which may be NaN or infinite."""
    if isinstance(value, Real) and value != value:
        return nan
    return check_float(name, value, infinite=True)


def check_seed(value: object, name: str = "seed") -> int:
    """Return the seed of random numbers: what torch and numpy can both be seeded with."""
    return check_int(name, value, least=0, most=LARGEST)


def check_bool(name: str, value: object) -> bool:
    """Return True or False; nothing else that is merely true or false."""
    if not isinstance(value, bool):
        raise bad_argument(name, "True or False", value)
    return value


def check_text(name: str, value: object) -> str:
    """Return a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise bad_argument(name, "a text", value)
    return value


def check_choice(name: str, value: object, possible: Iterable[str]) -> str:
    """Return one of some names."""
    names = list(possible)
    if not isinstance(value, str) or value not in names:
        raise unknown_name(
            name, _short(value) if isinstance(value, str) else short_repr(value), names
        )
    return value


def check_iterable(name: str, value: object, what: str) -> Iterable[Any]:
    """Return something that can be gone through: a list, an array, a generator.

    Not a text, nor anything that is called, as a module is.
    """
    single = isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", 1) == 0
    if single or callable(value) or not isinstance(value, Iterable):
        raise bad_argument(name, what, value)
    return value


def check_list(name: str, value: object, kind: type, what: str) -> list[Any]:
    """Return a list of things of one kind.

    >>> check_list("layers", ["a", 2], str, "names")
    Traceback (most recent call last):
    sickbay.errors.UsageError: layers must be a list of names, got one with 2.
    """
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise bad_argument(name, f"a list of {what}", value)
    for each in value:
        if not isinstance(each, kind):
            raise UsageError(f"{name} must be a list of {what}, got one with {short_repr(each)}.")
    return list(value)


def check_callable(name: str, value: object) -> Callable[..., Any]:
    """Return something that can be called."""
    if not callable(value):
        raise bad_argument(name, "a function", value)
    return value


def check_path(name: str, value: object) -> Path:
    """Return an absolute path; whether anything is there is not looked at."""
    given: Any = None
    if isinstance(value, str | os.PathLike):
        try:
            given = os.fspath(value)
        except Exception:  # a path of somebody's own that is none
            given = None
    if not isinstance(given, str) or not given or "\0" in given:
        raise bad_argument(name, "a path, as str or os.PathLike", value)
    return Path(os.path.abspath(given))


def bad_argument(name: str, possible: str, value: object) -> UsageError:
    """Return the error for an argument that is not what is possible."""
    return UsageError(f"{name} must be {possible}, got {short_repr(value)}.")


def short_repr(value: object) -> str:
    """Return a value as an error shows it: short, whatever it is.

    >>> len(short_repr([0] * 1000))
    90
    """
    try:
        shown = repr(value)
    except Exception:
        return f"a {type(value).__name__}"
    if len(shown) > SHOWN or "\n" in shown:
        shown = f"{shown.splitlines()[0][:SHOWN]}… (a {type(value).__name__})"
    return shown


def _short(given: str) -> str:
    return given if len(given) <= SHOWN else f"{given[:SHOWN]}…"


def _is_within(
    value: float,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
) -> bool:
    return (
        (above is None or value > above)
        and (least is None or value >= least)
        and (most is None or value <= most)
    )


def _bounds(**limits: float | None) -> str:
    """Return the bounds as the end of a phrase: ` above 0 and at most 1`."""
    words = {"above": "above", "least": "at least", "most": "at most"}
    given = [f"{words[kind]} {_told(limit)}" for kind, limit in limits.items() if limit is not None]
    if not given:
        return ""
    return (" " if given[0].startswith("above") else " of ") + " and ".join(given)


def _told(limit: float) -> str:
    return str(limit) if isinstance(limit, int) else f"{limit:g}"
