"""Calls of everything public, with arguments that are something else."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

from benchmarks.fuzz import odd_values
from benchmarks.fuzz.fuzz_input import Case, Run


@dataclass
class Call:
    """A call that is right as it stands.

    Attributes:
        name: What is called, for the report.
        function: It.
        args: Its arguments by position.
        kwargs: Its arguments by name.
        then: What is done with what it returns.
        loop: Whether the call itself is in the user's loop.
        slow: Whether it may take long.
        kept: Arguments that stay as they are.
    """

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    then: Callable[[Any], object] | None = None
    loop: bool = False
    slow: bool = False
    kept: tuple[str, ...] = ()


Make = Callable[[Case], Call]


def run(case: Case, make: Make) -> None:
    """Make a call with one argument or more replaced."""
    call = make(case)
    case.note(call.name)
    if call.slow:
        case.slow_down()
    args, kwargs = replaced(case, call)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        case.loop = call.loop
        made = call.function(*args, **kwargs)
        case.loop = False
        if call.then is not None:
            call.then(made)


def replaced(case: Case, call: Call) -> tuple[list[Any], dict[str, Any]]:
    random, args, kwargs = case.random, list(call.args), dict(call.kwargs)
    places: list[Any] = [*range(len(args)), *(each for each in kwargs if each not in call.kept)]
    for place in random.sample(places, min(len(places), random.choice((0, 1, 1, 1, 1, 2, 2, 3)))):
        label = random.choice(list(odd_values.VALUES))
        value = odd_values.VALUES[label]()
        case.note(f"{place}={label}")
        if isinstance(place, int):
            args[place] = value
        else:
            kwargs[place] = value
    if random.random() < 0.01:
        case.note("one more keyword")
        kwargs["surplus"] = None
    if random.random() < 0.01 and args:
        case.note("one argument less")
        args.pop()
    return args, kwargs


def kinds() -> dict[Run, float]:
    """Return everything that is called, by weight."""
    from benchmarks.fuzz import call_charts, call_loops, call_problems, call_repairs, call_tuning

    targets: dict[Make, float] = {}
    for module in (call_loops, call_repairs, call_problems, call_charts, call_tuning):
        targets |= module.TARGETS
    return {_runs(make): weight for make, weight in targets.items()}


def _runs(make: Make) -> Run:
    return lambda case: run(case, make)
