"""One input, with its random numbers, its folder and its limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from benchmarks.fuzz.time_and_memory_limits import allow

QUICK, SLOW = 8.0, 90.0  # seconds allowed for an input, also on a busy machine


@dataclass
class FuzzInput:
    """An input, ready to be run.

    Attributes:
        random: Draws everything about the input.
        home: An empty folder for this input.
        what: Describes the input in the report.
        loop: Whether the user's loop is running, in which nothing may be raised.
        limit: The allowed time in seconds.
    """

    random: Random
    home: Path
    what: list[str] = field(default_factory=list)
    loop: bool = False
    limit: float = QUICK

    def slow_down(self) -> None:
        """Allow the time of an input that trains, from now on."""
        self.limit = SLOW
        allow(SLOW)

    def note(self, *words: object) -> None:
        self.what.extend(map(str, words))

    def pick(self, weighed: dict[Run, float]) -> Run:
        """Choose at random by weight."""
        return self.random.choices(list(weighed), list(weighed.values()))[0]


Run = Callable[[FuzzInput], None]
