from math import nan

import pytest

from sickbay.problems import AmplifiedGradient
from tests.problems.published.gradient_means import history

HEALTHY, SICK = [0.5, 0.5, 0.5], [4e6, 2e3, 1.0]  # sick: ratios 2000 and 2000
problem = AmplifiedGradient()


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        pytest.param(SICK, True, id="amplified"),
        pytest.param([1000.0, 1.0], False, id="at-the-limit"),
        pytest.param([1000.001, 1.0], True, id="above-the-limit"),
        pytest.param([4e9, 1.0, 1.0, 1.0], False, id="at-one-layer-of-three"),
        pytest.param([4e9, 1.0, 1.0], True, id="mean-of-the-two-in-the-middle"),
        pytest.param(SICK[::-1], False, id="reduced"),
        pytest.param([value * 1e-9 for value in SICK], True, id="any-scale-small"),
        pytest.param([value * 1e9 for value in SICK], True, id="any-scale-large"),
        pytest.param([1e6] * 3, False, id="large-everywhere"),
        pytest.param([4e6, 2e3, 1.0, 0.0], False, id="a-layer-of-zeros"),
        pytest.param([1e300, 1e-300], True, id="overflow"),
        pytest.param([nan, nan], False, id="nan"),
        pytest.param([4e6, nan, 1.0], True, id="nan-between"),
        pytest.param([4e6], False, id="one-layer"),
        pytest.param([], False, id="no-layer"),
    ],
)
def test_check(means: list[float], expected: bool) -> None:
    assert bool(problem.check(history(means))) is expected


@pytest.mark.parametrize(
    ("epochs", "finished", "expected"),
    [
        pytest.param(20, 0, False, id="too-early"),
        pytest.param(20, 10, True, id="early-stage"),
        pytest.param(20, 11, False, id="late-stage"),
        pytest.param(None, 1, False, id="no-plan"),
    ],
)
def test_judged_in_the_first_half(epochs: int | None, finished: int, expected: bool) -> None:
    assert bool(problem.check(history(SICK, epochs=epochs, finished=finished))) is expected


def test_the_mean_of_the_epoch_counts() -> None:
    assert problem.check(history()) is None
    assert problem.check(history(SICK)) is not None
    assert problem.check(history(SICK, [0.0, 0.0, SICK[-1]])) is not None  # half the ratio
    assert problem.check(history(SICK, [1e3] * 3)) is None
    assert problem.check(history([1e3] * 3, SICK)) is None


def test_what_is_not_finite_is_left_to_another() -> None:
    assert problem.check(history(SICK, lost=1)) is None


def test_biases_are_left_out() -> None:
    assert problem.check(history([1e4, 1.0], bias=1.0)) is not None
    assert problem.check(history([1.0, 1.0], bias=1e-9)) is None


def test_the_finding_names_the_step_the_layers_and_the_numbers() -> None:
    finding = problem.check(history([0.0] * 4, [8e9, 2e6, 2e3, 1.0]))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("amplified_gradient", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (1, 1, ("0", "2"))
    assert finding.evidence == {"median": 2e3}
    assert finding.message == (
        "mean |gradient| over that of the next layer: median 2e+03 (limit 1000)"
    )
    assert not problem.yields_to_the_best
