"""Thresholds of problems by name: read from text, told as text, and what is near to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, fields, replace
from typing import Any, NamedTuple

from sickbay.arguments import bad_argument, check_list
from sickbay.errors import UsageError, unknown_name
from sickbay.problems import Problem

RATIO, REACH = 1.5, 4  # between two values that are tried for a threshold, and how many each way
OFF = "off"


def with_settings(problems: Sequence[Problem], settings: Sequence[str]) -> tuple[Problem, ...]:
    """Return the problems with some thresholds changed, or without those that are off.

    >>> from sickbay.problems import NoMoreGain, PassiveLoss
    >>> with_settings([PassiveLoss(), NoMoreGain()], ["passive_loss.epochs=4", "no_more_gain=off"])
    (PassiveLoss(spread=0.0001, epochs=4),)
    """
    chosen = {each.name(): each for each in check_list("problems", problems, Problem, "problems")}
    for setting in check_list("settings", settings, str, "texts"):
        what, _, value = setting.partition("=")
        name, _, limit = what.partition(".")
        if not value or bool(limit) == (value == OFF):
            raise UsageError(f"--set must be name.threshold=value or name=off, got {setting!r}.")
        if name not in chosen:
            raise unknown_name("problem among these called", name, chosen)
        if limit:
            chosen[name] = _changed(chosen[name], limit, value)
        else:
            del chosen[name]
    return tuple(chosen.values())


def changes(before: Sequence[Problem], after: Sequence[Problem]) -> list[str]:
    """Return the settings that make the one list the other.

    >>> from sickbay.problems import NoMoreGain, PassiveLoss
    >>> changes([PassiveLoss(), NoMoreGain()], [PassiveLoss(epochs=4)])
    ['passive_loss.epochs=4', 'no_more_gain=off']
    """
    chosen = {each.name(): each for each in check_list("after", after, Problem, "problems")}
    told = []
    for problem in check_list("before", before, Problem, "problems"):
        name, other = problem.name(), chosen.get(problem.name())
        if other is None:
            told.append(f"{name}={OFF}")
            continue
        for limit in _limits(problem):
            value = getattr(other, limit.name)
            if value != getattr(problem, limit.name):
                told.append(f"{name}.{limit.name}={value}")
    return told


class Line(NamedTuple):
    """Settings that differ in one threshold, in its order; at `own` it is as in the profile."""

    settings: list[Problem]
    own: int


def lines(own: Problem, now: Problem) -> list[Line]:
    """Return for each threshold the settings in which it alone is other than in `now`.

    It is lower and higher than in `own`, as far as it may be.

    >>> from sickbay.problems import PassiveLoss
    >>> spread, epochs = lines(PassiveLoss(), PassiveLoss(spread=0.01))
    >>> [each.spread for each in spread.settings[2:7]], spread.own
    ([4.44e-05, 6.67e-05, 0.0001, 0.00015, 0.000225], 4)
    >>> epochs.settings[0], len(epochs.settings), epochs.own
    (PassiveLoss(spread=0.01, epochs=2), 6, 1)
    """
    if not isinstance(own, Problem):
        raise bad_argument("own", "a problem", own)
    if type(now) is not type(own):
        raise bad_argument("now", f"a {type(own).__name__}", now)
    return [_line(limit, own, now) for limit in _limits(own) if "possible" not in limit.metadata]


def adjacent(own: Problem, now: Problem) -> list[Problem]:
    """Return the settings in which a threshold is a step lower or higher than in `now`.

    >>> from sickbay.problems import PassiveLoss
    >>> [(each.spread, each.epochs) for each in adjacent(PassiveLoss(), PassiveLoss(epochs=2))]
    [(6.67e-05, 2), (0.00015, 2), (0.0001, 3)]
    """
    near = []
    for line in lines(own, now):
        place = line.settings.index(now)
        near += line.settings[max(0, place - 1) : place + 2]
    return [each for each in near if each != now]


def _limits(problem: Problem) -> tuple[Field[Any], ...]:
    return fields(problem)  # type: ignore[arg-type]


def _line(limit: Field[Any], own: Problem, now: Problem) -> Line:
    value = getattr(own, limit.name)
    possible = [_set(now, limit, each) for each in _values(value, isinstance(limit.default, int))]
    line = [each for each in possible if each is not None]
    return Line(line, [getattr(each, limit.name) for each in line].index(value))


def _values(own: float, whole: bool) -> list[float]:
    reach = range(-REACH, REACH + 1)
    if whole:
        return [own + step for step in reach]
    wanted = [own * RATIO**step for step in reach]
    if 0.5 <= own < 1:  # a share, which can get nearer to 1
        wanted[REACH:] = [1 - (1 - own) / RATIO**step for step in range(REACH + 1)]
    return sorted({own, *(float(f"{each:.3g}") for each in wanted if each != own)})


def _set(problem: Problem, limit: Field[Any], value: float) -> Problem | None:
    try:
        return replace(problem, **{limit.name: value})  # type: ignore[type-var]
    except UsageError:  # out of range
        return None


def _changed(problem: Problem, name: str, text: str) -> Problem:
    known = {limit.name: limit for limit in _limits(problem)}
    if name not in known:
        raise unknown_name(f"threshold of {problem.name()} called", name, known)
    limit, value = known[name], text
    if "possible" not in limit.metadata:
        whole = isinstance(limit.default, int)
        try:
            value = int(text) if whole else float(text)  # type: ignore[assignment]
        except ValueError:
            kind = "whole number" if whole else "number"
            raise UsageError(f"{problem.name()}.{name} must be a {kind}, got {text!r}.") from None
    return replace(problem, **{name: value})  # type: ignore[type-var]
