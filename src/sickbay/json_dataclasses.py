"""Making dataclasses of JSON that nobody vouches for: every field is checked against its type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from math import isfinite
from types import UnionType
from typing import (
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from sickbay.arguments import LARGEST, bad_argument, check_bool, check_choice, check_int
from sickbay.errors import UsageError

Made = TypeVar("Made")
Check: TypeAlias = Callable[[str, object], Any]  # of a name and a value; returns what is made of it

NO_NUMBERS = {"nan", "inf", "-inf"}  # which JSON has no numbers for


def dataclass_from_json(cls: type[Made], values: object) -> Made:
    """Return a dataclass with the fields that JSON gives it; what it does not know is left out.

    >>> from sickbay.findings import Event
    >>> dataclass_from_json(Event, {"kind": "gone", "step": 3, "newer": True}).step
    3
    >>> dataclass_from_json(Event, {"kind": "gone", "step": "3"})
    Traceback (most recent call last):
    sickbay.errors.UsageError: step must be a whole number, got '3'.
    """
    given = json_object(cls.__name__, values)
    made: dict[str, Any] = {}
    for name, (check, is_needed) in _fields(cast(Any, cls)).items():
        if name in given:
            made[name] = check(name, given[name])
        elif is_needed:
            raise UsageError(f"{name} is missing.")
    return cls(**made)


def json_object(name: str, value: object) -> dict[str, Any]:
    """Return an object of JSON."""
    if not isinstance(value, dict):
        raise bad_argument(name, "an object of JSON", value)
    return value


def json_list(name: str, value: object) -> list[Any]:
    """Return a list of JSON."""
    if not isinstance(value, list):
        raise bad_argument(name, "a list", value)
    return value


def to_json(value: Any) -> Any:
    """Return a value with a string for each number that JSON cannot hold.

    >>> to_json({"loss": float("nan"), "lr": (0.5, 1)})
    {'loss': 'nan', 'lr': [0.5, 1]}
    """
    if isinstance(value, Mapping):
        return {name: to_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    if value is None or isinstance(value, str | int):
        return value
    number = float(value)
    return number if isfinite(number) else str(number)


@cache
def _fields(cls: Any) -> Mapping[str, tuple[Check, bool]]:
    """Return how every field of a dataclass is checked, and whether it must be given."""
    hints = get_type_hints(cls)
    return {
        each.name: (
            _check(hints[each.name]),
            each.default is MISSING and each.default_factory is MISSING,
        )
        for each in fields(cls)
    }


def _check(hint: Any) -> Check:
    """Return what makes a value of JSON the type that a hint asks for."""
    if is_dataclass(hint):
        return lambda _, value: dataclass_from_json(cast(type[Any], hint), value)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return lambda name, value: check_choice(name, value, inner)
    if origin in (Union, UnionType):  # X | None
        some = _check(inner[0])
        return lambda name, value: None if value is None else some(name, value)
    if origin in (tuple, list, Sequence):
        each, made = _check(inner[0]), tuple if origin is tuple else list
        return lambda name, value: made([each(name, one) for one in json_list(name, value)])
    if origin is not None:  # Mapping[str, X]
        of = _check(inner[1])
        return lambda name, value: {
            key: of(name, one) for key, one in json_object(name, value).items()
        }
    return PLAIN.get(hint, _refuse)


def _float(name: str, value: object) -> float:
    if type(value) is float:
        return value
    is_number = type(value) is int and abs(value) <= LARGEST
    if is_number or (isinstance(value, str) and value in NO_NUMBERS):
        return float(value)  # type: ignore[arg-type]
    raise bad_argument(name, "a number", value)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise bad_argument(name, "a text", value)
    return value


def _refuse(name: str, value: object) -> None:
    raise bad_argument(name, "left out, as JSON cannot hold it", value)


PLAIN: Mapping[Any, Check] = {float: _float, int: check_int, str: _text, bool: check_bool}
