"""Simulating a search on recorded trials, in the time that they took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple, Protocol

import numpy as np

from benchmarks.tuning.pool_part import Part


@dataclass(frozen=True)
class Ending:
    """Why a rule ends a trial. If it is benign, the trial stays a candidate."""

    why: str
    benign: bool = False


class SimulatedTrial(NamedTuple):
    """A trial as a search saw it: its position in the part, epochs trained, and start."""

    trial: int
    epochs: int
    start: float
    why: str = ""
    benign: bool = False


class Searcher(Protocol):
    """Chooses the next trial, and learns from its score."""

    def ask(self, left: Sequence[int]) -> int: ...

    def tell(self, trial: int, score: float) -> None: ...


class Rule(Protocol):
    """Decides after each epoch whether a trial should end, given the trials before it."""

    def ends(self, trial: int, done: int, past: Sequence[SimulatedTrial]) -> Ending | None: ...


def simulate(part: Part, searcher: Searcher, rule: Rule, budget: float) -> list[SimulatedTrial]:
    """Search until the budget is spent or no trial is left."""
    left, past, clock = list(range(len(part.trials))), list[SimulatedTrial](), 0.0
    while left:
        trial = searcher.ask(left)
        left.remove(trial)
        played = train(part, trial, rule, past, clock, budget)
        if not played.epochs:
            break
        past.append(played)
        clock += played.epochs * part.pace[trial]
        score = learnt(part, played)
        if score > -inf:
            searcher.tell(trial, score)
    return past


def train(
    part: Part, trial: int, rule: Rule, past: Sequence[SimulatedTrial], start: float, budget: float
) -> SimulatedTrial:
    """Run the epochs of a trial until it finishes, is ended, or the time is over."""
    epochs = part.scores.shape[1]
    fitting = min(epochs, int((budget - start) / part.pace[trial] + 1e-9))
    for done in range(1, fitting + 1):
        ending = rule.ends(trial, done, past) if done < epochs else None
        if ending is not None:
            return SimulatedTrial(trial, done, start, ending.why, ending.benign)
    return SimulatedTrial(trial, fitting, start)


def learnt(part: Part, played: SimulatedTrial) -> float:
    """Return the score that a searcher learns: the best, or the last of an ended trial.

    A benign end leaves it its best. Minus infinity if it never had any.
    """
    if not played.why or played.benign:
        return float(part.best[played.trial, played.epochs - 1])
    scores = part.scores[played.trial, : played.epochs]
    finite = scores[np.isfinite(scores)]
    return float(finite[-1]) if len(finite) else -inf


def curve(part: Part, past: Sequence[SimulatedTrial]) -> list[tuple[float, float]]:
    """Return the end of each epoch in seconds, and the score then."""
    return [
        (each.start + done * part.pace[each.trial], part.scores[each.trial, done - 1])
        for each in past
        for done in range(1, each.epochs + 1)
    ]
