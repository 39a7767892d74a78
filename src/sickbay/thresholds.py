"""Thresholds: one declaration gives the default, the legal range and the documentation."""

import re
from collections.abc import Iterable
from dataclasses import Field, field, fields, is_dataclass
from typing import Any, TypeVar

from sickbay.arguments import bad_argument, check_bool, check_choice, check_float, check_int
from sickbay.errors import UsageError

Made = TypeVar("Made", bound="Tunable")


def threshold(
    default: float,
    doc: str,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
) -> Any:
    """Declare a number that users may tune."""
    bounds = {"above": above, "least": least, "most": most}
    return field(default=default, metadata={"doc": doc, **bounds})


def choice(default: str, doc: str, possible: Iterable[str]) -> Any:
    """Declare a setting that is one of several names."""
    return field(default=default, metadata={"doc": doc, "possible": tuple(possible)})


def switch(default: bool, doc: str) -> Any:
    """Declare a setting that is either on or off."""
    return field(default=default, metadata={"doc": doc})


class Tunable:
    """Checks its settings when it is created. Subclasses are frozen dataclasses."""

    def __new__(cls: type[Made], *_settings: object, **_named: object) -> Made:
        """Refuse a class that lacks the decorator: its settings are no numbers then."""
        if any(isinstance(value, Field) for value in vars(cls).values()):
            raise UsageError(f"{cls.__name__} must be a dataclass(frozen=True, kw_only=True).")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for setting in settings(type(self)):
            value = _checked(setting, getattr(self, setting.name))
            object.__setattr__(self, setting.name, value)  # frozen, but still being created

    @classmethod
    def name(cls) -> str:
        """Return the class name in snake case, which also names its file and its test."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


def settings(kind: type[Tunable]) -> tuple[Field[Any], ...]:
    """Return the declared settings of a class, which is no dataclass if it has none."""
    return fields(kind) if is_dataclass(kind) else ()


def is_number(setting: Field[Any]) -> bool:
    """Return whether a setting is a number, and not a name, another object or on or off."""
    return isinstance(setting.default, int | float) and not isinstance(setting.default, bool)


def parse(name: str, setting: Field[Any], written: str) -> float | str:
    """Convert the text of a setting to a value of its type.

    >>> parse("patience", field(default=3), "5"), parse("verbose", field(default=False), "true")
    (5, True)
    """
    kinds: dict[type, tuple[Any, str]] = {
        bool: (lambda word: {"true": True, "false": False}[word.lower()], "true or false"),
        int: (int, "a whole number"),
        float: (float, "a number"),
        str: (str, "a string"),
    }
    convert, rule = kinds[type(setting.default)]
    try:
        value: float | str = convert(written)
    except (KeyError, ValueError):
        raise bad_argument(name, rule, written) from None
    return value


def _checked(setting: Field[Any], value: object) -> float | str:
    """Return a value as the plain type of the setting's default."""
    name, rules, default = setting.name, setting.metadata, setting.default
    bounds = {each: rules.get(each) for each in ("least", "most")}
    if "possible" in rules:
        return check_choice(name, value, rules["possible"])
    if isinstance(default, str):
        if not isinstance(value, str):
            raise bad_argument(name, "a string", value)
        return value
    if isinstance(default, bool):
        return check_bool(name, value)
    if isinstance(default, int):
        return check_int(name, value, **bounds)
    return check_float(name, value, above=rules.get("above"), infinite=True, **bounds)
