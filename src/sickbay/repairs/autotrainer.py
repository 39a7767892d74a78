"""The strategy of the AutoTrainer paper: one solution at a time, from the initial weights."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from sickbay.arguments import check_float, check_int
from sickbay.problems import Problem
from sickbay.problems.published.autotrainer.low_accuracy_base import LowAccuracyProblem
from sickbay.recipe import Recipe
from sickbay.remedies import Remedy
from sickbay.remedies.published.autotrainer import SOLUTIONS
from sickbay.repairs.outcome import Outcome
from sickbay.repairs.run import Run
from sickbay.repairs.search import Search

Choices = list[tuple[Remedy, Recipe]]


@dataclass(frozen=True, kw_only=True)
class AutoTrainer:
    """Train. At a problem, apply its first solution and train again, until nothing is found.

    If the same problem returns, the solution has failed, and the next one is tried in its place.
    If another problem appears, the first one is solved, and the new one is treated from there. Out
    of solutions, the most accurate model seen is returned.

    Attributes:
        check_every: Epochs between two checks (1/q in the paper).
        accuracy: The accuracy that you expect (Theta). A model that has reached more is left alone.
            Problems that you pass as objects keep their own.
        attempts: How often one solution may be tried for one problem, such as S2 with another
            activation. None means as often as published.

    >>> AutoTrainer(check_every=0)
    Traceback (most recent call last):
        ...
    sickbay.errors.UsageError: check_every must be a whole number of at least 1, got 0.
    """

    profile: ClassVar[str] = "autotrainer"
    budget: ClassVar[float] = 50.0
    most: ClassVar[float] = 50.0

    check_every: int = 3
    accuracy: float = 0.7
    attempts: int | None = None

    def __post_init__(self) -> None:
        checked = {
            "check_every": check_int("check_every", self.check_every, least=1),
            "accuracy": check_float("accuracy", self.accuracy, least=0),
        }
        if self.attempts is not None:
            checked["attempts"] = check_int("attempts", self.attempts, least=1)
        for name, value in checked.items():
            object.__setattr__(self, name, value)  # frozen, but still being made

    def remedies(self) -> Mapping[str, Sequence[Remedy]]:
        return SOLUTIONS

    def adapt(self, problem: Problem) -> Problem:
        if isinstance(problem, LowAccuracyProblem):
            return replace(problem, accuracy=self.accuracy)
        return problem

    def run(self, search: Search) -> Outcome:
        run = search.begin()
        base, treated = run, ""
        waiting: dict[str, Choices] = {}
        tried: dict[str, set[str]] = {}
        while (finding := run.progress.finding) is not None and search.spent < search.budget:
            search.journal.show(finding)
            search.finish(run)
            if finding.problem != treated:
                base, treated = run, finding.problem
                known = tried.setdefault(treated, set())
                found = search.prescribe(base, finding)
                waiting[treated] = [each for each in found if each[0].key not in known]
                waiting[treated] = self._allowed(waiting[treated], known)
            following = next_run(search, base, waiting[treated], tried[treated])
            if following is None:
                return search.failed()
            run = following
        if run.progress.healthy:
            search.finish(run, "healthy")
            return search.cured(run, solved=True)
        search.finish(run)
        return search.failed()

    def _allowed(self, choices: Choices, tried: set[str]) -> Choices:
        """Leave out what exceeds the attempts of its solution. A solution is a kind of remedy."""
        counts = Counter(key.partition(" ")[0] for key in tried)
        allowed = []
        for remedy, recipe in choices:
            counts[remedy.name()] += 1
            if self.attempts is None or counts[remedy.name()] <= self.attempts:
                allowed.append((remedy, recipe))
        return allowed


def next_run(search: Search, base: Run, waiting: Choices, tried: set[str]) -> Run | None:
    """Train with the next solution that does not fail. Return None if none is left."""
    while waiting:
        remedy, recipe = waiting.pop(0)
        tried.add(remedy.key)
        run = search.start(recipe, base, base.progress.finding, remedy)
        search.advance([run], search.epochs_of(run))
        if not run.progress.failed:
            return run
        search.finish(run, f"failed: {run.progress.failed}")
    return None
