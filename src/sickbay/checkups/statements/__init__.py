"""The tests of a checkup, each a statement that should hold, in the order they run.

Every folder is a group. Groups run in the order of `GROUPS`, and the statements of a group by their
`order`, then by name. A new file is found by itself. Packages add statements through entry points
of the group `sickbay.statements`; these run last.
"""

import sys
from typing import Any

from sickbay.checkups.base import Statement
from sickbay.plugins import classes_from_packages, classes_in

GROUPS = ("data", "gradients", "loss", "sequences", "modes", "limits")
ENTRY_POINTS = "sickbay.statements"


def group_of(kind: type[Statement]) -> str:
    """Return the group of a statement, "added" if it is not one of sickbay's."""
    folder = kind.__module__.removeprefix(f"{__name__}.").partition(".")[0]
    return folder if folder in GROUPS else "added"


_FOUND = classes_in(sys.modules[__name__], Statement)  # type: ignore[type-abstract]
EVERY = tuple(  # `_FOUND` is in the order of names
    sorted(_FOUND.values(), key=lambda kind: (GROUPS.index(group_of(kind)), kind.order))
)
_BY_CLASS_NAME = {kind.__name__: kind for kind in EVERY}


def known_statements() -> dict[str, type[Statement]]:
    """Return sickbay's statements and those of installed packages, by name."""
    own = {kind.name(): kind for kind in EVERY}
    added = classes_from_packages(ENTRY_POINTS, Statement)  # type: ignore[type-abstract]
    return {**own, **added, **own}


def __getattr__(name: str) -> Any:
    if name in _BY_CLASS_NAME:
        return _BY_CLASS_NAME[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_BY_CLASS_NAME])
