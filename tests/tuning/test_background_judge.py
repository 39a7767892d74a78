"""Judging beside the training: what the thread sees, asks, and does not ask."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from sickbay.history import History
from sickbay.problems import NonFinite, PassiveLoss, Problem
from sickbay.problems.trials.comparison import LearningCurve
from sickbay.tuning.background_judge import BackgroundJudge, Readings
from sickbay.vitals import Setup, Vitals
from tests.tuning.recording_problems import Broken, Comparing, Listening

SETUP = Setup(epochs=20)


@pytest.fixture
def made() -> Iterator[list[BackgroundJudge]]:
    judges: list[BackgroundJudge] = []
    yield judges
    for each in judges:
        each.close()


def background(
    made: list[BackgroundJudge], *problems: Problem, others: Any = None
) -> BackgroundJudge:
    made.append(BackgroundJudge(problems, History(SETUP), "val_accuracy", True, others))
    return made[-1]


def losses(first: int, *values: float, epoch: int = 0) -> list[Vitals]:
    return [Vitals(first + i, epoch, 0.0, {"loss": value}) for i, value in enumerate(values)]


def test_it_judges_in_a_thread_of_its_own_what_the_loop_has_seen(
    made: list[BackgroundJudge],
) -> None:
    listening = Listening()
    one = background(made, listening)
    one.send(Readings(losses(0, 4.0, 2.0), SETUP))
    one.send(Readings(losses(2, 0.0), SETUP, {"val_accuracy": 0.5}))
    one.send(Readings([], SETUP, {"loss": 7.0}))
    assert one.wait()
    assert listening.shown == [
        ("sickbay judge", 1, 2, [2.0]),
        ("sickbay judge", 2, 2, [2.0, 7.0]),
    ]


def test_what_is_critical_ends_a_trial_inside_an_epoch(made: list[BackgroundJudge]) -> None:
    one = background(made, PassiveLoss(), NonFinite())
    one.send(Readings(losses(0, 4.0), SETUP))
    assert one.wait()
    assert one.end is None
    one.send(Readings(losses(1, float("nan")), SETUP))
    assert one.wait()
    assert one.end is not None
    assert (one.end.finding.problem, one.end.benign) == ("non_finite", False)


def test_what_is_not_critical_is_asked_at_the_end_of_an_epoch_only(
    made: list[BackgroundJudge],
) -> None:
    listening = Listening()
    one = background(made, listening)
    one.send(Readings(losses(0, 4.0), SETUP))
    assert one.wait()
    assert not listening.shown
    one.send(Readings([], SETUP, {}))
    assert one.wait()
    assert len(listening.shown) == 1


def test_the_last_epoch_is_judged_by_what_is_critical_only(made: list[BackgroundJudge]) -> None:
    listening = Listening()
    one = background(made, listening, NonFinite())
    for _ in range(3):
        one.send(Readings([], Setup(epochs=3), {}))
    assert one.wait()
    assert [epoch for _, epoch, *_ in listening.shown] == [1, 2]
    assert one.end is None


def test_what_is_not_finite_at_the_very_end_ends_a_trial_too(made: list[BackgroundJudge]) -> None:
    one = background(made, NonFinite())
    one.send(Readings(losses(0, 1.0), Setup(epochs=2), {}))
    one.send(Readings(losses(1, float("nan"), epoch=1), Setup(epochs=2), {}))
    assert one.wait()
    assert one.end is not None
    assert one.end.finding.problem == "non_finite"


def test_one_that_raises_is_told_once_and_the_others_are_asked(made: list[BackgroundJudge]) -> None:
    broken, listening = Broken(), Listening()
    one = background(made, broken, listening)
    for _ in range(3):
        one.send(Readings([], SETUP, {}))
    assert one.wait()
    assert broken.asked == [1]
    assert len(listening.shown) == 3
    assert [(part, str(error)) for part, error in one.troubles] == [("problem broken", "oh")]


def test_other_trials_are_asked_for_once_an_epoch(made: list[BackgroundJudge]) -> None:
    asked: list[int] = []

    def others() -> list[LearningCurve]:
        asked.append(len(asked))
        return [LearningCurve([1.0] * len(asked), [])]

    comparing = Comparing()
    one = background(made, comparing, others=others)
    for _ in range(2):
        one.send(Readings([], SETUP))
        one.send(Readings([], SETUP))
        one.send(Readings([], SETUP, {"val_accuracy": 0.5}))
    assert one.wait()
    assert asked == [0, 1]
    assert [len(each[0].losses) for each in comparing.seen] == [1, 2]
    assert one.end is not None
    assert one.end.finding.message == "outdone"


def test_nobody_asks_for_others_that_no_problem_needs(made: list[BackgroundJudge]) -> None:
    one = background(made, NonFinite(), others=lambda: pytest.fail("asked"))
    one.send(Readings([], SETUP, {}))
    assert one.wait()
    assert not one.troubles
    assert one._known_at == -1


def test_waiting_has_an_end(made: list[BackgroundJudge]) -> None:
    gate = threading.Event()
    one = background(made, Comparing(), others=lambda: gate.wait() and [])
    one.send(Readings([], SETUP, {}))
    assert not one.wait(0.01)
    gate.set()
    assert one.wait()


def test_closing_ends_the_thread_after_what_it_was_given() -> None:
    left: list[str] = []
    listening = Listening()
    one = BackgroundJudge(
        [listening],
        History(SETUP),
        "x",
        True,
        leave=lambda: left.append(threading.current_thread().name),
    )
    one.send(Readings([], SETUP, {}))
    one.close()
    assert one._thread is not None
    one._thread.join(10)
    assert not one._thread.is_alive()
    assert len(listening.shown) == 1
    assert left == ["sickbay judge"]


def test_time_spent_is_counted(made: list[BackgroundJudge]) -> None:
    one = background(made, PassiveLoss())
    one.send(Readings(losses(0, *range(100)), SETUP, {}))
    assert one.wait()
    assert one.seconds > 0
