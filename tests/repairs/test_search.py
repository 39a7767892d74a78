"""What is kept of the attempts, and what is let go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import nn

import sickbay
from sickbay.findings import Finding
from sickbay.remedies import ClipNorm
from sickbay.repairs.crew import Crew
from sickbay.repairs.journal import Journal
from sickbay.repairs.report import Report
from sickbay.repairs.search import Node, Search
from sickbay.repairs.trainee import Job, Tick, Trainee, Weights
from sickbay.repairs.training import Terms

FOUND = Finding(problem="loss_spike", step=1, message="it is high")


class Told(Trainee):
    """An attempt that stands as it was told to."""

    def __init__(self, score: float) -> None:
        self._weights = {"score": torch.tensor(score)}
        self.now = Report(epochs=1.0, score=score)

    def advance(self, epochs: int, heed: bool = True) -> None:
        if not heed or epochs > 5:
            self.now = replace(self.now, finding=FOUND)

    def report(self) -> Report:
        return self.now

    def weights(self) -> tuple[Weights, Weights]:
        return self._weights, self._weights

    def close(self) -> None: ...


class Scripted(Crew):
    """Attempts with these scores, one after the other."""

    def __init__(self, scores: Sequence[float]) -> None:
        self._scores = list(scores)

    def start(self, job: Job, tick: Tick) -> Trainee:  # noqa: ARG002
        return Told(self._scores.pop(0))


@pytest.fixture
def recipe() -> sickbay.Recipe:
    model = nn.Linear(1, 1)
    return sickbay.Recipe(model, nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.1))


def search_of(recipe: sickbay.Recipe, *scores: float) -> Search:
    terms = Terms(problems=(), treatable=(), epochs=10)
    journal = Journal(None, False, dict, None, None)
    return Search(recipe, None, terms, Scripted(scores), journal, {}, 100.0)


def kept(search: Search) -> list[int]:
    """Return the attempts that still have weights; those without have no recipe either."""
    holding = [node for node in search.nodes if node.weights()[0]]
    assert all(hasattr(node, "recipe") is (node in holding) for node in search.nodes)
    return [node.attempt.number for node in holding]


def test_attempts_that_nothing_can_come_of_are_let_go(recipe: sickbay.Recipe) -> None:
    search = search_of(recipe, 0.5, 0.6, 0.7, 0.4, 0.65)

    def child(of: Node) -> Node:
        return search.start(recipe, of, FOUND, ClipNorm())

    plain = search.start(recipe)
    search.advance([plain], 10)
    search.finish(plain, "loss_spike")
    first, second, third = (child(plain) for _ in range(3))
    search.advance([first, second, third], 1)
    assert kept(search) == [0, 1, 2, 3]
    search.finish(third, "slower")
    assert kept(search) == [0, 1, 2, 3]  # the third has just ended
    search.finish(first, "slower")
    assert kept(search) == [0, 1, 2]  # the first is the best that is over
    search.advance([second], 10)
    assert kept(search) == [0, 1, 2]  # others might begin from the plain one
    search.finish(second, "loss_spike")
    assert kept(search) == [0, 2]
    last = child(second)
    search.advance([last], 1)
    assert kept(search) == [2, 4]
    search.finish(last, "healthy")
    assert kept(search) == [2, 4]
    assert search.best is second


def test_what_is_over_when_all_the_rest_failed_is_still_there(recipe: sickbay.Recipe) -> None:
    search = search_of(recipe, 0.5, 0.1, 0.1, 0.2)
    plain = search.start(recipe)
    search.advance([plain], 10)
    search.finish(plain, "loss_spike")
    for _ in range(3):
        node = search.start(recipe, plain, FOUND, ClipNorm())
        search.advance([node], 1)
        search.finish(node, "failed: it did")
        assert kept(search) == [0, node.attempt.number]
    assert search.best is plain
