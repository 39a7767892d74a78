"""Dataclasses from untrusted JSON: every field is checked against its type."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from math import isfinite
from types import UnionType
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from sickbay.arguments import LARGEST, bad_argument, check_bool, check_choice, check_int
from sickbay.errors import UsageError

Made = TypeVar("Made")
Check: TypeAlias = Callable[[str, object], Any]  # takes a name and a value, returns the value

NOT_FINITE = {"nan", "inf", "-inf"}  # JSON has no numbers for these


def dataclass_from_json(cls: type[Made], values: object) -> Made:
    """Return a dataclass with fields from JSON; fields it does not know are ignored.

    >>> from sickbay.findings import Event
    >>> dataclass_from_json(Event, {"kind": "gone", "step": 3, "newer": True}).step
    3
    >>> dataclass_from_json(Event, {"kind": "gone", "step": "3"})
    Traceback (most recent call last):
    sickbay.errors.UsageError: step must be a whole number, got '3'.
    """
    given = json_object(cls.__name__, values)
    made: dict[str, Any] = {}
    for name, (check, is_needed) in _fields(cls).items():  # type: ignore[arg-type]
        if name in given:
            made[name] = check(name, given[name])
        elif is_needed:
            raise UsageError(f"{name} is missing.")
    return cls(**made)


def json_object(name: str, value: object) -> dict[str, Any]:
    """Return a JSON object."""
    if not isinstance(value, dict):
        raise bad_argument(name, "a JSON object", value)
    return value


def json_list(name: str, value: object) -> list[Any]:
    """Return a JSON list."""
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
    """Return the check of every field of a dataclass, and whether the field is required."""
    hints = get_type_hints(cls)
    return {
        each.name: (
            _check(hints[each.name]),
            each.default is MISSING and each.default_factory is MISSING,
        )
        for each in fields(cls)
    }


def _check(hint: Any) -> Check:
    """Return the check that turns a JSON value into the type of a hint."""
    kind: type[Any] = hint
    if is_dataclass(hint):
        return lambda _, value: dataclass_from_json(kind, value)
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
    if is_number or (isinstance(value, str) and value in NOT_FINITE):
        return float(value)  # type: ignore[arg-type]
    raise bad_argument(name, "a number", value)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise bad_argument(name, "a string", value)
    return value


def _refuse(name: str, value: object) -> None:
    raise bad_argument(name, "left out: JSON cannot hold it", value)


PLAIN: Mapping[Any, Check] = {float: _float, int: check_int, str: _text, bool: check_bool}
