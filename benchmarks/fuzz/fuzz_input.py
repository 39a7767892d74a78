"""One input: what is done, and what is right for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from benchmarks.fuzz.time_and_memory_limits import allow

QUICK, SLOW = 8.0, 90.0  # seconds that an input may take, on a busy machine


@dataclass
class Case:
    """An input, ready to be run.

    Attributes:
        random: Where everything about it is drawn from.
        home: A folder of its own, empty.
        what: What it is, for the report; grows while it is made.
        loop: Whether what runs now is in the user's loop, where nothing may be raised.
        limit: Seconds.
    """

    random: Random
    home: Path
    what: list[str] = field(default_factory=list)
    loop: bool = False
    limit: float = QUICK

    def slow_down(self) -> None:
        """Allow it the time of an input that trains, counted from now."""
        self.limit = SLOW
        allow(SLOW)

    def note(self, *words: object) -> None:
        self.what.extend(map(str, words))

    def pick(self, weighed: dict[Run, float]) -> Run:
        """Return one of some, by their weights."""
        return self.random.choices(list(weighed), list(weighed.values()))[0]


Run = Callable[[Case], None]
