"""Values as JSON has them, and what they stand for, rebuilt from a file that nobody vouches for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def plain(told: dict[str, Any]) -> dict[str, Any]:
    """Return values as JSON has them: what is no number is None.

    >>> plain({"score": float("-inf"), "layers": ("0", "1")})
    {'score': None, 'layers': ['0', '1']}
    """
    values: dict[str, Any] = json.loads(json.dumps(told), parse_constant=lambda _: None)
    return values


def rebuilt(kind: Any, value: Any) -> Any:
    """Return a value of JSON as the type that it stands for; a ValueError if it cannot be that.

    >>> rebuilt(tuple[int, ...] | None, [1, 2])
    (1, 2)
    >>> rebuilt(Mapping[str, float], {"loss": "low"})
    Traceback (most recent call last):
    ValueError: it has 'low' where a float belongs
    """
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _object(kind, value)
    if origin is Literal and isinstance(value, str) and value in inner:
        return value
    if origin in (Union, UnionType):
        return _first(inner, value)
    if origin in (tuple, list, Sequence) and isinstance(value, list):
        made = [rebuilt(inner[0], each) for each in value]
        return tuple(made) if origin is tuple else made
    if origin in (dict, Mapping) and isinstance(value, dict):
        return {name: rebuilt(inner[1], each) for name, each in value.items()}
    if kind is float and type(value) in (int, float):
        return float(value)
    if kind in (int, str, bool, NoneType) and type(value) is kind:
        return value
    wanted = getattr(kind, "__name__", kind)
    raise ValueError(f"it has {str(value)[:40]!r} where a {wanted} belongs")


def _first(kinds: Sequence[Any], value: Any) -> Any:
    for kind in kinds[:-1]:
        try:
            return rebuilt(kind, value)
        except ValueError:
            continue
    return rebuilt(kinds[-1], value)


def _object(kind: Any, value: Any) -> Any:
    known = {each.name for each in fields(kind)}
    if not isinstance(value, dict) or not value.keys() <= known:
        raise ValueError(f"it has no {kind.__name__} where one belongs")
    hints = get_type_hints(kind)
    try:
        return kind(**{name: rebuilt(hints[name], each) for name, each in value.items()})
    except TypeError as error:  # something is missing
        raise ValueError(f"it has only a part of a {kind.__name__}") from error
