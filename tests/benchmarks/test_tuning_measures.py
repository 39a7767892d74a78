from math import inf, isnan, nan

import pytest

from benchmarks.tuning.measures import (
    seconds_to_reach,
    time_saving_for_baseline_accuracy,
    top10_hit_ratio,
)

TEN = [float(each) for each in range(10)]


@pytest.mark.parametrize(
    ("method", "baseline", "expected"),
    [
        pytest.param([10.0] * 10, TEN, 1.0, id="all"),
        pytest.param([-1.0] * 10, TEN, 0.0, id="none"),
        pytest.param(TEN, TEN, 0.5, id="equal"),
        pytest.param([9.5, 8.5, 7.5, -1.0], TEN, 0.3, id="three-of-ten"),
        pytest.param([9.5, 1.0], TEN[1:], 0.15, id="a-tie-for-the-last-place"),
        pytest.param([9.5, 0.0], TEN, 0.1, id="a-tie-behind-the-last-place"),
        pytest.param([5.0], [5.0] * 11, 1 / 12, id="a-tie-of-many"),
        pytest.param([3.0, nan], [1.0, 2.0, inf], 1 / 3, id="fewer-than-ten"),
        pytest.param([], TEN, 0.0, id="no-trials"),
        pytest.param(iter(TEN), iter(TEN), 0.5, id="any-iterable"),
    ],
)
def test_top10_hit_ratio(method: list[float], baseline: list[float], expected: float) -> None:
    assert top10_hit_ratio(method, baseline) == pytest.approx(expected)


def test_low_values_may_be_the_best_ones() -> None:
    assert top10_hit_ratio([-1.0, 20.0], TEN, maximize=False) == pytest.approx(0.1)
    assert top10_hit_ratio([-1.0, 20.0], TEN, maximize=True) == pytest.approx(0.1)
    assert top10_hit_ratio([20.0, 21.0], TEN, maximize=False) == 0.0


def test_no_value_at_all_is_no_ratio() -> None:
    assert isnan(top10_hit_ratio([nan], []))


BASELINE = [(10.0, 0.5), (40.0, 0.8), (50.0, 0.8), (80.0, 0.6)]  # its time is 80 seconds


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        pytest.param([(40.0, 0.8)], 0.5, id="as-good-in-half-the-time"),
        pytest.param([(10.0, 0.79), (60.0, 0.9)], 0.25, id="better-at-once"),
        pytest.param([(80.0, 0.8)], 0.0, id="with-all-its-time"),
        pytest.param([(160.0, 0.8)], -1.0, id="slower"),
        pytest.param([(20.0, 0.7)], 0.0, id="never-within-the-baseline's-time"),
        pytest.param([(160.0, 0.7)], -1.0, id="never-within-its-own-time"),
        pytest.param([], 0.0, id="nothing-at-all"),
        pytest.param([(5.0, nan), (40.0, 0.8)], 0.5, id="nan"),
        pytest.param([(60.0, 0.9), (40.0, 0.8)], 0.5, id="any-order"),
    ],
)
def test_time_saving(method: list[tuple[float, float]], expected: float) -> None:
    assert time_saving_for_baseline_accuracy(method, BASELINE) == pytest.approx(expected)
    lower = [(seconds, -value) for seconds, value in method]
    base = [(seconds, -value) for seconds, value in BASELINE]
    assert time_saving_for_baseline_accuracy(lower, base, False) == pytest.approx(expected)


@pytest.mark.parametrize("baseline", [[], [(1.0, nan)], [(0.0, 1.0)]])
def test_a_baseline_that_gives_nothing_to_compare_with(baseline: list[tuple[float, float]]) -> None:
    assert isnan(time_saving_for_baseline_accuracy([(1.0, 1.0)], baseline))


def test_seconds_to_reach() -> None:
    assert seconds_to_reach(BASELINE, 0.8) == 40
    assert seconds_to_reach(BASELINE, 0.55, maximize=False) == 10
    assert seconds_to_reach(BASELINE, 0.9) == inf
    assert seconds_to_reach([(1.0, inf), (2.0, 0.9)], 0.9) == 2
