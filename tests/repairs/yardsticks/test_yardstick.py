"""What a score is held against, and when it is a success."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sickbay.problems.shared.yardsticks import Yardstick


def test_the_best_of_many_runs_is_above_a_constant_by_chance() -> None:
    held = Yardstick(constant=0.5, metric="val_accuracy", samples=400)
    assert [held.is_surely_met(0.56, tries) for tries in (1, 4)] == [True, False]
    assert held.is_surely_met(0.7, 20)


@pytest.mark.parametrize("reference", [None, 0.285])
def test_a_trifle_above_a_constant_is_no_success_on_any_number_of_samples(
    reference: float | None,
) -> None:
    held = Yardstick(0.268, reference, metric="val_accuracy", samples=100_000)
    assert [held.is_surely_met(each) for each in (0.28, 0.3045, 0.3047)] == [False, False, True]


@pytest.mark.parametrize(
    ("constant", "score", "solved"),
    [
        pytest.param(0.3, 0.93, True, id="within-5-points"),
        pytest.param(0.83, 0.95, True, id="most-of-what-is-possible"),
        pytest.param(0.83, 0.93, False, id="a-quarter-is-missing"),
        pytest.param(None, 0.93, True, id="no-constant-answer"),
    ],
)
def test_a_success_takes_most_of_the_way_from_a_constant_answer(
    constant: float | None, score: float, solved: bool
) -> None:
    held = Yardstick(constant=constant, reference=0.96, metric="val_accuracy", samples=20_000)
    assert held.is_surely_met(score) is solved


@pytest.mark.parametrize(
    ("constant", "reference", "score", "solved"),
    [
        pytest.param(50, None, 40, False, id="below-the-constant"),
        pytest.param(50, None, 50.1, False, id="hardly-above-it"),
        pytest.param(50, None, 60, True, id="above-it"),
        pytest.param(50, 90, 60, False, id="below-the-reference"),
        pytest.param(50, 90, 89, True, id="at-the-reference"),
        pytest.param(-0.01, 0.9, 0.89, True, id="a-constant-just-below-0"),
        pytest.param(-0.01, 0.9, 0.5, False, id="far-below-the-reference"),
        pytest.param(0.3, 0.95, 0.94, True, id="shares"),
    ],
)
def test_a_metric_may_have_any_scale(
    constant: float, reference: float | None, score: float, solved: bool
) -> None:
    held = Yardstick(constant=constant, reference=reference, metric="val_metric", samples=200)
    assert held.is_surely_met(score) is solved


def test_a_rare_class_can_be_found() -> None:
    held = Yardstick(constant=0.995, reference=0.999, metric="val_accuracy", samples=20_000)
    assert held.is_surely_met(0.9999)
    assert not held.is_surely_met(0.9955)


@pytest.mark.parametrize(
    ("score", "solved", "short"),
    [
        pytest.param(0.86, True, False, id="near-it"),
        pytest.param(0.8, False, True, id="too-far"),
    ],
)
def test_training_comes_near_an_exact_optimum_slowly(
    score: float, solved: bool, short: bool
) -> None:
    held = Yardstick(0.0, 0.98, "val_score", samples=4000, exact=True)
    assert held.is_surely_met(score) is solved
    assert held.is_below_reference(score) is short
    assert replace(held, exact=False).is_surely_met(score) is False
