"""Call every public function with some arguments replaced by wrong ones."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

from benchmarks.fuzz import odd_values
from benchmarks.fuzz.fuzz_input import FuzzInput, Run


@dataclass
class Call:
    """A valid call.

    Attributes:
        name: The name of the function in the report.
        function: The function.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        then: Called with the result.
        loop: Whether the call happens in the user's loop.
        slow: Whether it may take long.
        kept: Arguments that are not replaced.
    """

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    then: Callable[[Any], object] | None = None
    loop: bool = False
    slow: bool = False
    kept: tuple[str, ...] = ()


Make = Callable[[FuzzInput], Call]


def run(case: FuzzInput, make: Make) -> None:
    """Make a call with some arguments replaced."""
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


def replaced(case: FuzzInput, call: Call) -> tuple[list[Any], dict[str, Any]]:
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
    """Return all calls with their weights."""
    from benchmarks.fuzz import call_charts, call_loops, call_problems, call_repairs, call_tuning

    targets: dict[Make, float] = {}
    for module in (call_loops, call_repairs, call_problems, call_charts, call_tuning):
        targets |= module.TARGETS
    return {_runs(make): weight for make, weight in targets.items()}


def _runs(make: Make) -> Run:
    return lambda case: run(case, make)
