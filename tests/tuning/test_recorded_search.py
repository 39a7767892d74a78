from math import inf, isnan, nan

import pytest

from tests.tuning.sample_problems import search, trial

FOUR = [trial("a", [4, 3]), trial("b", [8, 9]), trial("c", [2, 5]), trial("d", [3, 3])]


def test_what_trials_reach_is_their_best_epoch() -> None:
    assert search(*FOUR).values == [7, 2, 8, 7]
    assert search(*FOUR, maximize=False).values == [6, 1, 5, 7]


def test_of_equal_trials_the_earlier_has_the_better_place() -> None:
    assert search(*FOUR).ranks == [2, 4, 1, 3]
    assert search(*FOUR, maximize=False).ranks == [3, 1, 2, 4]


def test_values_that_are_not_finite_count_for_nothing() -> None:
    odd = search(trial("a", [1, 1], [nan, 0.5]), trial("b", [1], [inf]), trial("c", [1], [-1]))
    assert odd.values[0] == 0.5
    assert isnan(odd.values[1])
    assert odd.ranks == [1, 3, 2]
    assert [odd.is_among_best(index, 3) for index in range(3)] == [True, False, True]


@pytest.mark.parametrize(
    ("maximize", "expected"),
    [(True, [True, False, True, False]), (False, [False, True, True, False])],
)
def test_the_good_ones(maximize: bool, expected: list[bool]) -> None:
    four = search(*FOUR, maximize=maximize)
    assert [four.is_among_best(index, 2) for index in range(4)] == expected


@pytest.mark.parametrize(
    ("value", "count", "expected"),
    [
        pytest.param(7.5, 1, True, id="still-the-best"),
        pytest.param(7.0, 1, True, id="as-good-as-the-second"),
        pytest.param(6.9, 1, False, id="the-third-by-then"),
        pytest.param(6.9, 3, True, id="among-three"),
        pytest.param(nan, 4, False, id="nothing-reached"),
    ],
)
def test_would_a_trial_stay(value: float, count: int, expected: bool) -> None:
    assert search(*FOUR).would_stay_among_best(2, value, count) is expected


def test_would_a_trial_stay_where_low_is_among_best() -> None:
    four = search(*FOUR, maximize=False)
    assert four.would_stay_among_best(1, 5.0, 1)
    assert not four.would_stay_among_best(1, 5.1, 1)


def test_time_and_a_tenth() -> None:
    assert search(trial("a", [1, 1], seconds=[2, 3]), trial("b", [1], seconds=[4])).seconds == 9
    assert [search(*FOUR[:1] * count).top_tenth for count in (1, 19, 20, 400)] == [1, 1, 2, 40]


def test_the_learning_curve_of_a_trial() -> None:
    curve = search(*FOUR).learning_curve(FOUR[0], 1, over=False)
    assert (curve.losses, curve.values, curve.over) == ([4], [6], False)
