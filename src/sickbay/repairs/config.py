"""The settings of `fit` as JSON has them: strategies, problems and remedies by name."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

from sickbay import safe_files
from sickbay.arguments import bad_argument, check_choice
from sickbay.errors import UsageError
from sickbay.problems import Problem
from sickbay.remedies import Remedy
from sickbay.remedies.by_problem import installed
from sickbay.repairs.fit import fit
from sickbay.repairs.strategy import STRATEGIES, Strategy, check_strategy, problems_for

Named = TypeVar("Named")
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
        check_choice(f"setting in {str(path)!r} called", name, SETTINGS)
    return values


def from_names(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with objects where JSON has names with settings.

    >>> from_names({"remedies": ["warm_up", {"name": "clip_norm", "limit": 2}]})["remedies"]
    ['warm_up', ClipNorm(limit=2.0)]
    >>> from_names({"strategy": {"name": "autotrainer", "check_every": 2}})["strategy"].check_every
    2
    >>> from_names({"remedies": [{"name": "together", "second": "warm_up"}]})["remedies"][0].second
    WarmUp(steps=100)
    """
    made = dict(arguments)
    if isinstance(made.get("strategy"), dict):
        made["strategy"] = _strategy(made["strategy"])
    for name, make in (("remedies", _remedy), ("problems", partial(_problem, made))):
        if isinstance(made.get(name), list | tuple):
            made[name] = [make(each) if isinstance(each, dict) else each for each in made[name]]
    return made


def _strategy(values: Mapping[str, Any]) -> Strategy:
    name = check_choice("strategy", _name("strategy", values), STRATEGIES)
    return _with_settings(name, STRATEGIES[name], values)


def _remedy(values: Mapping[str, Any]) -> Remedy:
    known = installed()
    name = check_choice("remedy", _name("remedy", values), known)
    return _with_settings(name, known[name](), values)


def _problem(arguments: Mapping[str, Any], values: Mapping[str, Any]) -> Problem:
    strategy = check_strategy(arguments.get("strategy", "race"))
    name = _name("problem", values)
    found = problems_for(strategy, arguments.get("profile"), [name])
    if len(found) > 1:
        raise bad_argument("A problem with settings", "a single one", name)
    return _with_settings(found[0].name(), found[0], values)


def _name(what: str, values: Mapping[str, Any]) -> Any:
    if "name" not in values:
        raise bad_argument(f"A {what} with settings", "an object with a name", dict(values))
    return values["name"]


def _with_settings(name: str, made: Named, values: Mapping[str, Any]) -> Named:
    """Return a strategy, a problem or a remedy with other settings."""
    known = {each.name for each in fields(made)} if is_dataclass(made) else set()
    changed = {setting: value for setting, value in values.items() if setting != "name"}
    for setting in changed:
        if isinstance(getattr(made, setting, None), Remedy):  # `together` has two
            given = changed[setting]
            changed[setting] = _remedy(given if isinstance(given, dict) else {"name": given})
    for setting in changed:
        if not known:
            raise UsageError(f"{name} has no settings, got {setting!r}.")
        check_choice(f"setting of {name} called", setting, known)
    return replace(made, **changed) if changed else made  # type: ignore[type-var]
