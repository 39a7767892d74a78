"""Checks of arguments: whatever cannot be used gets one sentence, before anything is touched.

Every check takes the argument's name and value, and returns the value as a plain type. Numbers may
be numpy's.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite, isnan, nan
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from sickbay.errors import UsageError, unknown_name

LARGEST = 2**63 - 1  # the largest integer of torch and numpy
SHOWN = 80  # characters of a value that an error quotes


def check_int(
    name: str, value: object, *, least: int | None = None, most: int | None = None
) -> int:
    """Return a whole number within bounds.

    >>> check_int("epochs", 0, least=1)
    Traceback (most recent call last):
    sickbay.errors.UsageError: epochs must be a whole number of at least 1, got 0.
    """
    rule = f"a whole number{_bounds(None, least, most)}"
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise bad_argument(name, rule, value)
    plain = int(value)
    if (least is not None and plain < least) or (most is not None and plain > most):
        raise bad_argument(name, rule, value)
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
    """Return a number within bounds, never NaN, and infinite only if that is allowed.

    >>> check_float("budget", "1", above=0)
    Traceback (most recent call last):
    sickbay.errors.UsageError: budget must be a number above 0, got '1'.
    """
    bounds = _bounds(above, least, most)
    if not isinstance(value, Real) or isinstance(value, bool):
        raise bad_argument(name, f"a number{bounds}", value)
    try:
        plain = float(value)
    except Exception:  # an int too large for a float, or a Real that is none
        raise bad_argument(name, f"a number{bounds}", value) from None
    is_within = (
        (above is None or plain > above)
        and (least is None or plain >= least)
        and (most is None or plain <= most)
    )
    if isnan(plain) or not (infinite or isfinite(plain)) or not is_within:
        kind = "number" if infinite or most is not None else "finite number"
        raise bad_argument(name, f"a {kind}{bounds}", value)
    return plain


def check_any_float(name: str, value: object) -> float:
    """Return a number, which may be NaN or infinite."""
    if isinstance(value, Real) and value != value:
        return nan
    return check_float(name, value, infinite=True)


def check_seed(value: object, name: str = "seed") -> int:
    """Return a seed that torch and numpy both take."""
    return check_int(name, value, least=0, most=LARGEST)


def check_bool(name: str, value: object) -> bool:
    """Return True or False; other values that are true or false are refused."""
    if not isinstance(value, bool):
        raise bad_argument(name, "True or False", value)
    return value


def check_text(name: str, value: object) -> str:
    """Return a string that is not empty."""
    if not isinstance(value, str) or not value:
        raise bad_argument(name, "a string", value)
    return value


def check_choice(name: str, value: object, possible: Iterable[str]) -> str:
    """Return one of some names."""
    names = list(possible)
    if isinstance(value, str) and value in names:
        return value
    raise unknown_name(name, value if isinstance(value, str) else short_repr(value), names)


def check_iterable(name: str, value: object, what: str) -> Iterable[Any]:
    """Return a list, an array, a generator or the like, but no string, mapping or callable."""
    single = isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", 1) == 0
    if single or callable(value) or not isinstance(value, Iterable):
        raise bad_argument(name, what, value)
    return value


def check_list(name: str, value: object, kind: type, what: str) -> list[Any]:
    """Return a list whose items are all of one kind.

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
    """Return an absolute path, whether or not it exists."""
    path: Any = None
    if isinstance(value, str | os.PathLike):
        try:
            path = os.fspath(value)
        except Exception:  # a broken path class of the user's
            path = None
    if not isinstance(path, str) or not path or "\0" in path:
        raise bad_argument(name, "a path, as str or os.PathLike", value)
    return Path(os.path.abspath(path))


def bad_argument(name: str, rule: str, value: object) -> UsageError:
    """Return the error for an argument that breaks a rule."""
    return UsageError(f"{name} must be {rule}, got {short_repr(value)}.")


def short_repr(value: object) -> str:
    """Return the repr of a value, or its beginning if it is long.

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


def _bounds(above: float | None, least: float | None, most: float | None) -> str:
    """Return the bounds as the end of a phrase: ` above 0 and at most 1`."""
    limits = {"above": above, "at least": least, "at most": most}
    words = [
        f"{word} {limit if isinstance(limit, int) else format(limit, 'g')}"
        for word, limit in limits.items()
        if limit is not None
    ]
    if not words:
        return ""
    return (" " if above is not None else " of ") + " and ".join(words)
