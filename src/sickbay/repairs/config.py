"""The settings of `fit` as JSON has them, with problems and remedies by name."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

from sickbay import safe_files
from sickbay.arguments import bad_argument, check_choice
from sickbay.errors import UsageError, unknown_name
from sickbay.problems import Problem
from sickbay.problems.profiles import choose
from sickbay.remedies import Remedy
from sickbay.remedies.by_problem import installed
from sickbay.repairs.fit import fit
from sickbay.thresholds import Tunable, settings

Named = TypeVar("Named", bound=Tunable)
MAX_BYTES = 1 << 20  # of a config
NEEDED = "model, data, loss and optimizer, and any other argument of sickbay.fit"
OBJECTS = (
    "model", "data", "loss", "optimizer", "validation", "scheduler", "callbacks", "console",
)  # fmt: skip
ARGUMENTS = tuple(signature(fit).parameters)
SETTINGS = tuple(name for name in ARGUMENTS if name not in OBJECTS)  # JSON can hold these


def read_config(path: Path) -> dict[str, Any]:
    """Return the settings in a JSON file. Raise `UsageError` if one is unknown."""
    values = safe_files.parse_json(safe_files.read_file(path, MAX_BYTES), path)
    if not isinstance(values, dict):
        raise bad_argument(f"The config {str(path)!r}", "a JSON object", values)
    for name in values:
        if name in OBJECTS:
            raise UsageError(f"{name!r} must come from the function, got it in {str(path)!r}.")
        check_choice(f"setting in {str(path)!r}", name, SETTINGS)
    return values


def from_names(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with objects where JSON has names with settings.

    >>> from_names({"remedies": ["warm_up", {"name": "clip_norm", "limit": 2}]})["remedies"]
    ['warm_up', ClipNorm(limit=2.0)]
    """
    made = dict(arguments)
    convert: dict[str, Callable[[Any], Any]] = {
        "remedies": _remedy,
        "problems": partial(_problem, made.get("profile") or "default"),
    }
    for name, make in convert.items():
        if isinstance(made.get(name), list | tuple):
            made[name] = [make(each) if isinstance(each, dict) else each for each in made[name]]
    return made


def _remedy(values: Mapping[str, Any]) -> Remedy:
    known = installed()
    name = check_choice("remedy", values.get("name"), known)
    return _with_settings(known[name](), values)


def _problem(profile: str, values: Mapping[str, Any]) -> Problem:
    [usual] = choose(profile, [values.get("name")])  # type: ignore[list-item]
    return _with_settings(usual, values)


def _with_settings(made: Named, values: Mapping[str, Any]) -> Named:
    """Return a problem or a remedy with other settings."""
    known = {each.name for each in settings(type(made))}
    changed = {name: value for name, value in values.items() if name != "name"}
    for name in changed:
        if name not in known:
            raise unknown_name(f"setting of {made.name()}", name, known)
    return replace(made, **changed) if changed else made  # type: ignore[type-var]
