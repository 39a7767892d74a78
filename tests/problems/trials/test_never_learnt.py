from collections.abc import Sequence
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import NeverLearnt
from sickbay.vitals import Setup

problem = NeverLearnt(window=0.1, steps=0, drop=0.125)


def history(first: float, losses: Sequence[float], epochs: int | None = 20) -> History:
    made = History(Setup(epochs=epochs), loss=[first])
    for loss in losses:
        made.end_epoch(loss=loss)
    return made


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        pytest.param([8.0, 8.0], True, id="still"),
        pytest.param([8.0], False, id="too-early"),
        pytest.param([9.0, 30.0], True, id="rising"),
        pytest.param([8.0, 7.0], False, id="at-the-limit"),
        pytest.param([7.01, 7.01], True, id="above-the-limit"),
        pytest.param([6.0, 9.0, 9.0], False, id="it-did-learn-once"),
        pytest.param([8.0, nan], True, id="nan"),
        pytest.param([nan, inf], True, id="nothing-finite"),
        pytest.param([], False, id="nothing"),
    ],
)
def test_check(losses: list[float], expected: bool) -> None:
    assert bool(problem.check(history(8.0, losses))) is expected


def test_a_run_that_learns_within_its_first_epoch_is_left_alone() -> None:
    assert problem.check(history(2.3, [0.1, 0.1, 0.1])) is None


@pytest.mark.parametrize(("epochs", "needed"), [(20, 2), (40, 4), (100, 10), (None, 2), (3, 2)])
def test_longer_runs_are_given_more_epochs(epochs: int | None, needed: int) -> None:
    assert problem.check(history(8.0, [8.0] * (needed - 1), epochs)) is None
    assert problem.check(history(8.0, [8.0] * needed, epochs))


@pytest.mark.parametrize(("val_loss", "expected"), [(7.5, True), (7.0, False), (nan, True)])
def test_dropout_may_hide_in_the_training_loss_what_was_learnt(
    val_loss: float, expected: bool
) -> None:
    made = History(Setup(epochs=20), loss=[8.0])
    for _ in range(2):
        made.end_epoch(loss=8.0, val_loss=val_loss)
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        pytest.param([8.0, 7.8], False, id="on-its-way"),
        pytest.param([8.0, 7.9], True, id="hardly"),
        pytest.param([9.0, 8.5], False, id="above-where-it-began"),
        pytest.param([90.0, 17.0], True, id="thrown-off"),
        pytest.param([7.8, 8.0], True, id="no-more"),
    ],
)
def test_what_still_falls_is_given_time(losses: list[float], expected: bool) -> None:
    patient = NeverLearnt(steps=0, still=0.02, drop=0.125)
    assert bool(patient.check(history(8.0, losses))) is expected


def test_one_lucky_batch_does_not_count() -> None:
    made = History(Setup(epochs=20), loss=[4.0, 8.0, 8.0, 8.0, 8.0])
    for _ in range(2):
        made.end_epoch(loss=6.0)
    assert problem.check(made) is None


def test_it_is_given_some_steps() -> None:
    patient = NeverLearnt(steps=10)
    for steps, expected in ((9, False), (10, True)):
        made = History(Setup(epochs=20), loss=[8.0] * steps)
        for _ in range(2):
            made.end_epoch(loss=8.0)
        assert bool(patient.check(made)) is expected


def test_losses_below_zero() -> None:
    assert problem.check(history(-8.0, [-8.5, -8.5]))
    assert problem.check(history(-8.0, [-9.0, -9.0])) is None


def test_without_a_finite_first_loss_nothing_is_said() -> None:
    assert problem.check(history(nan, [nan, nan])) is None


def test_finding() -> None:
    finding = problem.check(history(8.0, [7.5, 7.5]))
    assert finding is not None
    assert finding.message == ("the loss began at 8 and was never below 7.5 in 2 epochs (limit 7)")
    assert finding.evidence == {"first": 8.0, "best": 7.5}
    assert finding.epoch == 2
