"""List the problems, and explain a problem, a remedy or a checkup test. Problems need no torch."""

import json
from collections.abc import Mapping
from inspect import getdoc
from pathlib import Path

from sickbay.problems.by_name import EVERY, RENAMED, find, installed
from sickbay.problems.profiles import PROFILES, profiles_of
from sickbay.thresholds import Tunable, is_number, settings

ODDS = Path(__file__).with_name("remedies") / "odds.json"


def list_problems() -> None:
    """Print all problems, with the profiles that look for them."""
    from sickbay.console import Console, Table

    table = Table("problem", "what it is", "profiles", box=None, pad_edge=False)
    for name, kind in sorted(installed().items()):
        summary = (getdoc(kind) or "").partition("\n")[0]
        table.add_row(name, summary, ", ".join(profiles_of(name)))
    Console().print(table)


def explain(name: str) -> None:
    """Print all about a problem, a remedy or a checkup test."""
    if name not in {*EVERY, *RENAMED} and name not in installed():
        _explain_other(name)
        return
    kind = find(name)
    name = kind.name()
    print(f"{name} ({kind.severity})\n\n{getdoc(kind)}")
    if kind.advice:
        print(f"\nWhat to try:\n    {kind.advice}")
    _print_remedies(name)
    by_profile = {
        profile: problem
        for profile, problems in PROFILES.items()
        for problem in problems
        if problem.name() == name
    }
    own = {profile: each for profile, each in by_profile.items() if type(each) is kind}
    _print_settings("Thresholds", own or {"": kind()})
    for profile, problem in by_profile.items():
        if profile not in own:
            print(f"\nThe rule of the profile {profile}:\n\n{getdoc(problem)}")
            _print_settings("Thresholds", {profile: problem})


def _explain_other(name: str) -> None:
    """Print the documentation of a remedy or a checkup test."""
    from sickbay.checkups import command
    from sickbay.remedies import by_problem

    kind = by_problem.installed().get(name)
    if kind is None:
        print(command.explained(name))
        return
    problems = ", ".join(by_problem.treats(kind()))
    print(f"{name} ({kind.safety})\n\n{getdoc(kind)}\n\nTreats:\n    {problems}")
    _print_settings("Settings", {"": kind()})


def _print_remedies(problem: str) -> None:
    """Print how often each remedy has cured a problem. This needs no torch."""
    counts = json.loads(ODDS.read_text())["counts"].get(problem, {})
    if counts:
        print("\nRemedies, with the number of cases that each has cured:")
    for remedy, (cured, tried) in sorted(counts.items(), key=lambda item: -item[1][0]):
        print(f"    {cured:3} of {tried:3}  {remedy}")


def _print_settings(title: str, by_profile: Mapping[str, Tunable]) -> None:
    """Print the settings of a problem or a remedy, and their values in each profile."""
    declared = settings(type(next(iter(by_profile.values()))))
    if declared:
        print(f"\n{title}:")
    for setting in declared:
        form = "g" if is_number(setting) else ""
        values = [
            f"{profile} {getattr(problem, setting.name):{form}}".strip()
            for profile, problem in by_profile.items()
        ]
        print(f"    {setting.name}  {setting.metadata.get('doc', '')}".rstrip())
        print(f"        {', '.join(values)}")
