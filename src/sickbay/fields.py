"""Making dataclasses of JSON that nobody vouches for: every field is checked against its type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from sickbay.arguments import wrong
from sickbay.errors import UsageError

Made = TypeVar("Made")

LARGEST = 2**63 - 1  # of a whole number: what an array can hold
NO_NUMBERS = {"nan", "inf", "-inf"}  # which JSON has no numbers for


def revived(cls: type[Made], values: object) -> Made:
    """Return a dataclass with the fields that JSON gives it; what it does not know is left out.

    >>> from sickbay.findings import Event
    >>> revived(Event, {"kind": "gone", "step": 3, "newer": True}).step
    3
    >>> revived(Event, {"kind": "gone", "step": "3"})
    Traceback (most recent call last):
    sickbay.errors.UsageError: step must be a whole number, got '3'.
    """
    given = mapping(cls.__name__, values)
    made: dict[str, Any] = {}
    for name, (hint, needed) in _fields(cls).items():
        if name in given:
            made[name] = fit(name, hint, given[name])
        elif needed:
            raise UsageError(f"{name} is missing.")
    return cls(**made)


def mapping(name: str, value: object) -> Mapping[str, Any]:
    """Return an object of JSON."""
    if not isinstance(value, dict):
        raise wrong(name, "an object of JSON", value)
    return value


def fit(name: str, hint: Any, value: object) -> Any:
    """Return a value of JSON as the type that a hint asks for."""
    if hint is Any:
        return value
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        if isinstance(value, str) and value in inner:
            return value
        raise wrong(name, f"one of {', '.join(inner)}", value)
    if origin in (Union, UnionType):  # X | None
        return None if value is None else fit(name, inner[0], value)
    if origin is tuple:
        if not isinstance(value, list):
            raise wrong(name, "a list", value)
        return tuple(fit(name, inner[0], each) for each in value)
    if origin is not None:  # Mapping[str, X]
        items = mapping(name, value).items()
        return {key: fit(name, inner[1], each) for key, each in items}
    return _plain(name, hint, value)


def _plain(name: str, hint: Any, value: object) -> Any:
    if hint is float:
        if isinstance(value, float) or (isinstance(value, str) and value in NO_NUMBERS):
            return float(value)
        if type(value) is int and abs(value) <= LARGEST:
            return float(value)
        raise wrong(name, "a number", value)
    if hint is int and (type(value) is not int or abs(value) > LARGEST):
        raise wrong(name, "a whole number", value)
    if type(value) is not hint:
        raise wrong(name, {str: "a text", bool: "true or false"}[hint], value)
    return value


@cache
def _fields(cls: Any) -> Mapping[str, tuple[Any, bool]]:
    """Return the type of every field of a dataclass, and whether it must be given."""
    hints = get_type_hints(cls)
    return {
        each.name: (hints[each.name], each.default is MISSING and each.default_factory is MISSING)
        for each in fields(cls)
    }
