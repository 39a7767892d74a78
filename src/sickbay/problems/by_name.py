"""Every problem by its name: those of sickbay, and those that other packages bring."""

import warnings
from collections.abc import Mapping
from inspect import isabstract

from sickbay import problems
from sickbay.arguments import check_choice
from sickbay.plugins import classes_from_packages
from sickbay.problems.shared.base import Problem

GROUP = "sickbay.problems"  # of entry points
RENAMED = {"oscillating_loss": "oscillating_accuracy"}

EVERY: Mapping[str, type[Problem]] = {
    kind.name(): kind
    for kind in vars(problems).values()
    if isinstance(kind, type) and issubclass(kind, Problem) and not isabstract(kind)
}


def installed() -> dict[str, type[Problem]]:
    """Return every problem, with those of other packages; sickbay's own names cannot be taken."""
    return classes_from_packages(GROUP, Problem) | dict(EVERY)  # type: ignore[type-abstract]


def find(name: object) -> type[Problem]:
    """Return the problem with a name; look into other packages only if sickbay has none."""
    if isinstance(name, str):
        name = current_name(name)
    known = EVERY if isinstance(name, str) and name in EVERY else installed()
    return known[check_choice("problem", name, known)]


def current_name(name: str) -> str:
    """Return the name of a problem. Warn if `name` is an old one."""
    if name in RENAMED:
        message = f"The problem {name!r} is now called {RENAMED[name]!r}."
        warnings.warn(message, DeprecationWarning, stacklevel=4)
    return RENAMED.get(name, name)
