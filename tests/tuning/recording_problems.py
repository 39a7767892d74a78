"""Problems that record what they are asked to judge."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.problems.trials.comparison import ComparedProblem, Comparison, LearningCurve


class Listening(Problem):
    """Records each history it is asked about, and finds nothing."""

    advice = "none"
    reads = ("step", "gradient")

    def __init__(self) -> None:
        self.shown: list[Any] = []

    def check(self, history: History) -> Finding | None:
        here = threading.current_thread().name
        self.shown.append((here, history.epoch, history.step, history.epochs("loss")))
        return None


class Comparing(ComparedProblem):
    """Records the other trials, and is found from the second value on."""

    advice = "none"

    def __init__(self) -> None:
        self.seen: list[Sequence[LearningCurve]] = []

    def compare(self, history: History, beside: Comparison) -> Finding | None:
        self.seen.append(beside.others)
        return self.found(history, "outdone") if beside.done > 1 and beside.maximize else None


class Broken(Problem):
    """Raises, and records each call."""

    advice = "none"
    reads = ("epoch",)

    def __init__(self) -> None:
        self.asked: list[int] = []

    def check(self, history: History) -> Finding | None:
        self.asked.append(history.epoch)
        raise ZeroDivisionError("oh")
