"""The rule that ends a trial by its diagnosis, as a profile of sickbay does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.tuning.pool_part import Part
from benchmarks.tuning.simulated_search import Ending, SimulatedTrial
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from sickbay.problems.trials.comparison import ComparedProblem, Comparison, LearningCurve
from sickbay.tuning.judge import Protection, find_end, own_curve


class Histories:
    """The history of each trial after each of its epochs, built when first needed."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._known: dict[tuple[int, int], History] = {}

    def __call__(self, trial: int, done: int) -> History:
        if (trial, done) not in self._known:
            recorded = self._part.trials[trial]
            begun = replace(recorded, epochs=recorded.epochs[:done])
            *_, self._known[trial, done] = begun.histories()
        return self._known[trial, done]


class Diagnosis:
    """Ends the trials in which the problems of a profile are found."""

    def __init__(
        self,
        part: Part,
        problems: Sequence[Problem],
        histories: Callable[[int, int], History],
    ) -> None:
        self._part, self._histories = part, histories
        self._problems, self._guard = problems, Guard(failed)
        self._courses: list[LearningCurve] = []
        self._protection = Protection(problems)  # of the current trial

    def ends(self, trial: int, done: int, past: Sequence[SimulatedTrial]) -> Ending | None:
        for each in past[len(self._courses) :]:
            self._courses.append(self._course(each))
        history, part = self._histories(trial, done), self._part
        own = own_curve(history, part.metric)
        beside = Comparison(own, self._courses, part.sign > 0)
        if done == 1:
            self._protection = Protection(self._problems)
        self._protection.end_epoch(beside)
        protected = self._protection.was_among_best
        end = find_end(self._problems, history, beside, self._guard, protected)
        return Ending(end.finding.problem, end.benign) if end else None

    def _course(self, played: SimulatedTrial) -> LearningCurve:
        epochs = self._part.trials[played.trial].epochs[: played.epochs]
        losses = [epoch.scalars["loss"] for epoch in epochs]
        values = [epoch.scalars[self._part.metric] for epoch in epochs]
        return LearningCurve(losses, values, over=played.benign or not played.why)


def remembered(problem: Problem) -> Problem:
    """Return a problem that caches its finding for each history.

    Problems that compare trials are returned as they are: their findings differ between searches.
    """
    if isinstance(problem, ComparedProblem):
        return problem
    known: dict[History, Finding | None] = {}

    def check(_self: Problem, history: History) -> Finding | None:
        if history not in known:
            known[history] = problem.check(history)
        return known[history]

    kind = type(problem)
    thresholds: Mapping[str, Any] = vars(problem)
    once: Problem = type(kind.__name__, (kind,), {"check": check})(**thresholds)
    return once


def failed(part: str, error: Exception) -> None:
    """Stop the benchmark: figures without the problem that raised would mislead."""
    raise SystemExit(f"{part} raised {error!r}")
