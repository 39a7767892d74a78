"""Thresholds: one declaration gives the default, the legal range and the documentation."""

import re
from collections.abc import Sequence
from dataclasses import Field, field, fields
from typing import Any

from sickbay.arguments import bad_argument, check_choice, check_float, check_int


def threshold(
    default: float,
    doc: str,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
) -> Any:
    """Declare a dataclass field that a user may tune."""
    bounds = {"above": above, "least": least, "most": most}
    return field(default=default, metadata={"doc": doc, **bounds})


def choice(default: str, doc: str, possible: Sequence[str]) -> Any:
    """Declare a dataclass field that is one of some names."""
    return field(default=default, metadata={"doc": doc, "possible": tuple(possible)})


def text(default: str, doc: str) -> Any:
    """Declare a dataclass field that is any text."""
    return field(default=default, metadata={"doc": doc})


class Tunable:
    """Checks its thresholds and choices when made; subclasses are frozen dataclasses."""

    def __post_init__(self) -> None:
        for limit in fields(self):  # type: ignore[arg-type]
            value = _checked(limit, getattr(self, limit.name))
            object.__setattr__(self, limit.name, value)  # frozen, but still being made

    @classmethod
    def name(cls) -> str:
        """Return the class name in snake case: also its file, its test and its CLI name."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


def _checked(limit: Field[Any], value: object) -> float | str:
    """Return the value of a field as the plain type of its default."""
    name, bounds = limit.name, {each: limit.metadata.get(each) for each in ("least", "most")}
    if (possible := limit.metadata.get("possible")) is not None:
        return check_choice(name, value, possible)
    if isinstance(limit.default, str):
        if not isinstance(value, str):
            raise bad_argument(name, "a text", value)
        return value
    if isinstance(limit.default, int):
        return check_int(name, value, **bounds)
    return check_float(name, value, above=limit.metadata.get("above"), infinite=True, **bounds)
