"""Which finished runs a search keeps, and which it frees."""

from __future__ import annotations

from sickbay.repairs.run import Run
from sickbay.repairs.search import Search
from tests.repairs.scripted import AS_GIVEN, FOUND, Change, at, search_of


def kept(search: Search) -> list[int]:
    """Return the runs that still have weights; the others must not have a recipe either."""
    holding = [run for run in search.runs if run.best]
    assert all(hasattr(run, "recipe") is (run in holding) for run in search.runs)
    return [run.number for run in holding]


def begin(search: Search) -> Run:
    run = search.begin()
    search.finish(run, "loss_spike")
    return run


def child(search: Search, parent: Run, remedy: str) -> Run:
    return search.start(search.original, parent, FOUND, Change(remedy))


def test_runs_that_nothing_can_start_from_are_freed() -> None:
    scores = {"a": 0.6, "b": 0.7, "c": 0.4, "d": 0.65}
    scripts = {name: at(score) for name, score in scores.items()}
    search = search_of({AS_GIVEN: at(0.5), **scripts})
    plain = begin(search)
    first, second, third = (child(search, plain, name) for name in "abc")
    search.advance([first, second, third], 1)
    assert kept(search) == [0, 1, 2, 3]
    search.finish(third, "slower")
    assert kept(search) == [0, 1, 2, 3]  # the third has just ended
    search.finish(first, "slower")
    assert kept(search) == [0, 1, 2]  # the first is the best finished one
    search.advance([second], 10)
    assert kept(search) == [0, 1, 2]  # others might start from the plain one
    search.finish(second, "loss_spike")
    assert kept(search) == [0, 2]
    last = child(search, second, "d")
    search.advance([last], 1)
    assert kept(search) == [2, 4]
    search.finish(last, "healthy")
    assert kept(search) == [2, 4]
    assert search.best is second


def test_the_best_run_is_kept_when_all_others_fail() -> None:
    search = search_of({AS_GIVEN: at(0.5), "a": at(0.1), "b": at(0.1), "c": at(0.2)})
    plain = begin(search)
    for name in "abc":
        run = child(search, plain, name)
        search.advance([run], 1)
        search.finish(run, "failed: it did")
        assert kept(search) == [0, run.number]
    assert search.best is plain
