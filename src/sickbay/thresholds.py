"""Thresholds: one declaration gives the default, the legal range and the documentation."""

import re
from collections.abc import Sequence
from dataclasses import field, fields
from typing import Any

from sickbay.errors import UsageError, unknown


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
            value = getattr(self, limit.name)
            if (possible := limit.metadata.get("possible")) is not None:
                if value not in possible:
                    raise unknown(limit.name, value, possible)
                continue
            if isinstance(limit.default, str):
                if not isinstance(value, str):
                    raise UsageError(f"{limit.name} must be text, got {value!r}.")
                continue
            above, least, most = map(limit.metadata.get, ("above", "least", "most"))
            whole = isinstance(limit.default, int)
            if not isinstance(value, int if whole else int | float):
                kind = "whole number" if whole else "number"
                raise UsageError(f"{limit.name} must be a {kind}, got {value!r}.")
            if above is not None and not value > above:
                raise UsageError(f"{limit.name} must be above {above:g}, got {value:g}.")
            if least is not None and not value >= least:
                raise UsageError(f"{limit.name} must be at least {least:g}, got {value:g}.")
            if most is not None and not value <= most:
                raise UsageError(f"{limit.name} must be at most {most:g}, got {value:g}.")

    @classmethod
    def name(cls) -> str:
        """Return the class name in snake case: also its file, its test and its CLI name."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
