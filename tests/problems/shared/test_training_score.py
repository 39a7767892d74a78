"""How well a model answers on its training batches, beside the best constant answer."""

from collections.abc import Sequence
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems.shared.training_score import TrainingScore, gains_less, training_score
from sickbay.vitals import Setup, Vitals


@pytest.mark.parametrize(
    ("score", "constant", "gain"),
    [
        pytest.param(0.5, 0.5, 0.0, id="none"),
        pytest.param(0.75, 0.5, 0.5, id="half"),
        pytest.param(1.0, 0.5, 1.0, id="all"),
        pytest.param(0.0, 0.5, -1.0, id="worse"),
        pytest.param(0.25, 0.0, 0.25, id="variance-explained"),
        pytest.param(1.0, 1.0, 0.0, id="nothing-to-gain"),
    ],
)
def test_gain(score: float, constant: float, gain: float) -> None:
    assert TrainingScore(score, constant, 64).gain == gain


@pytest.mark.parametrize(
    ("constant", "samples", "doubt"),
    [
        pytest.param(0.5, 64, 0.125, id="two-classes"),
        pytest.param(0.5, 16, 0.25, id="fewer-samples"),
        pytest.param(0.8, 64, 0.25, id="a-frequent-class"),
        pytest.param(0.0, 100, 0.01, id="numbers"),
        pytest.param(0.5, 0, 1.0, id="no-samples"),
    ],
)
def test_doubt(constant: float, samples: int, doubt: float) -> None:
    assert TrainingScore(0.5, constant, samples).doubt == pytest.approx(doubt)


def test_words() -> None:
    words = str(TrainingScore(0.12345, 1 / 3, 9))
    assert words == "scores 0.123 on its training batches, a constant answer 0.333"


def test_words_of_a_regression() -> None:
    words = str(TrainingScore(-0.3, 0.0, 9))
    assert words == "explains -0.3 of the variance of its training batches, a constant answer 0"


def history(scores: Sequence[float], constant: Sequence[float] = (0.5,), size: int = 8) -> History:
    setup = Setup(output_shape=(size, 2)) if size else Setup()
    return History(setup, loss=[1.0] * len(scores), score=scores, constant_score=constant)


@pytest.mark.parametrize(
    ("scores", "after", "expected", "readings"),
    [
        pytest.param([0.25] * 11, 0, 0.25, 4, id="the-last-third"),
        pytest.param([0.0] * 7 + [1.0] * 4, 0, 1.0, 4, id="not-before"),
        pytest.param([0.0] * 9 + [1.0] * 2, 0, 0.5, 4, id="their-mean"),
        pytest.param([0.0] * 9 + [1.0] * 2, 9, 1.0, 2, id="after-a-step"),
        pytest.param([0.25] * 10, 9, 0.25, 1, id="at-the-limit"),
        pytest.param([0.25], 0, 0.25, 1, id="the-first-step"),
        pytest.param([-9.0] * 11, 0, -1.0, 4, id="no-worse-than-that"),
        pytest.param([0.5] * 10 + [nan], 0, 0.5, 3, id="nan-now"),
        pytest.param([0.5] * 10 + [-inf], 0, 0.5, 3, id="inf-now"),
        pytest.param([0.5] * 500, 0, 0.5, 64, id="a-bounded-look-back"),
    ],
)
def test_the_newest_scores_count(
    scores: list[float], after: int, expected: float, readings: int
) -> None:
    found = training_score(history(scores), after)
    assert found == TrainingScore(expected, 0.5, 8 * readings)


@pytest.mark.parametrize(
    ("scores", "constant", "after"),
    [
        pytest.param([0.5] * 10, [0.5], 10, id="too-early"),
        pytest.param([], [0.5], 0, id="no-score"),
        pytest.param([nan] * 10, [0.5], 0, id="nan"),
        pytest.param([-inf] * 10, [0.5], 0, id="inf"),
        pytest.param([0.5] * 10, [], 0, id="no-constant"),
        pytest.param([0.5] * 10, [0.5, nan], 0, id="constant-nan"),
    ],
)
def test_there_may_be_none(scores: list[float], constant: list[float], after: int) -> None:
    made = history(scores, constant)
    assert training_score(made, after) is None
    assert not gains_less(made, 9.0, after)


def test_scores_of_long_ago_do_not_count() -> None:
    made = history([0.5] * 10)
    made.append(Vitals(step=100, scalars={"loss": 1.0}))
    assert training_score(made, 0) is None


def test_the_newest_constant_counts() -> None:
    found = training_score(history([0.5] * 10, [0.9, 0.25]), 0)
    assert found is not None
    assert found.constant == 0.25


def test_without_a_batch_size_a_reading_is_one_sample() -> None:
    found = training_score(history([0.5] * 11, size=0), 0)
    assert found is not None
    assert found.samples == 4


@pytest.mark.parametrize(("limit", "expected"), [(0.5, False), (0.51, True)])
def test_gains_less(limit: float, expected: bool) -> None:
    assert gains_less(history([0.75] * 10), limit, 0) is expected


@pytest.mark.parametrize(("slope", "known"), [(nan, True), (0.0, True), (1.0, True), (-1.0, False)])
def test_a_loss_that_makes_up_for_rare_classes_costs_right_answers(
    slope: float, known: bool
) -> None:
    history = History(score=60 * [0.88], constant_score=60 * [0.92], weight_slope=60 * [slope])
    assert (training_score(history, 40) is not None) is known
