"""Threshold settings such as `plateau.epochs=4`: parsed, written, and varied for calibration."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from sickbay import thresholds
from sickbay.arguments import check_list
from sickbay.errors import UsageError, unknown_name
from sickbay.problems import Problem
from sickbay.problems.by_name import current_name

RATIO = 1.5  # between neighbouring values of a threshold
REACH = 4  # values tried on either side
OFF = "off"


def with_settings(problems: Sequence[Problem], settings: Sequence[str]) -> tuple[Problem, ...]:
    """Return the problems with the settings applied. `name=off` drops a problem.

    >>> from sickbay.problems import NoMoreGain, PassiveLoss
    >>> with_settings([PassiveLoss(), NoMoreGain()], ["passive_loss.epochs=4", "no_more_gain=off"])
    (PassiveLoss(spread=0.0001, epochs=4),)
    """
    chosen = {each.name(): each for each in check_list("problems", problems, Problem, "problems")}
    for setting in check_list("settings", settings, str, "strings"):
        target, _, value = setting.partition("=")
        name, _, limit = target.partition(".")
        if not value or bool(limit) == (value == OFF):
            raise UsageError(f"--set must be name.threshold=value or name=off, got {setting!r}.")
        name = current_name(name)
        if name not in chosen:
            raise unknown_name("problem among these called", name, chosen)
        if not limit:
            del chosen[name]
            continue
        known = {each.name: each for each in thresholds.settings(type(chosen[name]))}
        if limit not in known:
            raise unknown_name(f"threshold of {name} called", limit, known)
        parsed = thresholds.parse(target, known[limit], value)
        chosen[name] = replace(chosen[name], **{limit: parsed})
    return tuple(chosen.values())


def changes(before: Sequence[Problem], after: Sequence[Problem]) -> list[str]:
    """Return the settings that turn `before` into `after`.

    >>> from sickbay.problems import NoMoreGain, PassiveLoss
    >>> changes([PassiveLoss(), NoMoreGain()], [PassiveLoss(epochs=4)])
    ['passive_loss.epochs=4', 'no_more_gain=off']
    """
    chosen = {each.name(): each for each in after}
    settings = []
    for problem in before:
        name, other = problem.name(), chosen.get(problem.name())
        if other is None:
            settings.append(f"{name}={OFF}")
            continue
        for limit in thresholds.settings(type(problem)):
            value = getattr(other, limit.name)
            if value != getattr(problem, limit.name):
                settings.append(f"{name}.{limit.name}={value}")
    return settings


class Line(NamedTuple):
    """Settings that differ in one threshold, in its order. At index `own` it is the profile's."""

    settings: list[Problem]
    own: int


def lines(own: Problem, now: Problem) -> list[Line]:
    """Return a line of settings through `now` for each threshold.

    Its values are those around the value in `own`, as far as they are legal. Choices, texts and
    switches are not varied.

    >>> from sickbay.problems import PassiveLoss
    >>> spread, epochs = lines(PassiveLoss(), PassiveLoss(spread=0.01))
    >>> [each.spread for each in spread.settings[2:7]], spread.own
    ([4.44e-05, 6.67e-05, 0.0001, 0.00015, 0.000225], 4)
    >>> epochs.settings[0], len(epochs.settings), epochs.own
    (PassiveLoss(spread=0.01, epochs=2), 6, 1)
    """
    found = []
    for limit in filter(thresholds.is_number, thresholds.settings(type(own))):
        value, settings = getattr(own, limit.name), []
        for each in _values(value, isinstance(limit.default, int)):
            with suppress(UsageError):  # out of range
                settings.append(replace(now, **{limit.name: each}))  # type: ignore[type-var]
        found.append(Line(settings, [getattr(each, limit.name) for each in settings].index(value)))
    return found


def adjacent(own: Problem, now: Problem) -> list[Problem]:
    """Return the settings in which one threshold is a step lower or higher than in `now`.

    >>> from sickbay.problems import PassiveLoss
    >>> [(each.spread, each.epochs) for each in adjacent(PassiveLoss(), PassiveLoss(epochs=2))]
    [(6.67e-05, 2), (0.00015, 2), (0.0001, 3)]
    """
    near = []
    for line in lines(own, now):
        place = line.settings.index(now)
        near += line.settings[max(0, place - 1) : place + 2]
    return [each for each in near if each != now]


def _values(own: float, is_int: bool) -> list[float]:
    steps = range(-REACH, REACH + 1)
    if is_int:
        return [own + step for step in steps]
    values = [own * RATIO**step for step in steps]
    if 0.5 <= own < 1:  # a fraction, which approaches 1 but does not pass it
        values[REACH:] = [1 - (1 - own) / RATIO**step for step in range(REACH + 1)]
    return sorted({own, *(float(f"{each:.3g}") for each in values if each != own)})
