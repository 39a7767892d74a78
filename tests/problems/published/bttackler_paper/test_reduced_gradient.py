from math import nan

import pytest

from sickbay.problems.published.bttackler_paper import ReducedGradient
from tests.problems.published.gradient_means import history

problem = ReducedGradient(ratio=2.0**-13)
SICK = [1e-9, 5e-5, 1.0]  # ratios 2e-5 and 5e-5


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        pytest.param(SICK, True, id="reduced"),
        pytest.param([2.0**-13, 1.0], True, id="at-the-limit"),
        pytest.param([2.0**-12, 1.0], False, id="above-the-limit"),
        pytest.param([1e-9] * 3, False, id="tiny-everywhere"),
        pytest.param([1.0, 1.0, 0.0, 1.0], False, id="one-layer-of-zeros"),
        pytest.param([0.0, 0.0, 1.0], True, id="most-layers-of-zeros"),
        pytest.param([0.0, 0.0, 0.0], True, id="all-zeros"),
        pytest.param([1e-9, 1.0, 1.0, 1.0], False, id="at-one-layer-of-three"),
        pytest.param(SICK[::-1], False, id="amplified"),
        pytest.param([1e-9, nan, 1.0], True, id="nan-between"),
        pytest.param([1e-9], False, id="one-layer"),
        pytest.param([], False, id="no-layer"),
    ],
)
def test_check(means: list[float], expected: bool) -> None:
    assert bool(problem.check(history(means))) is expected


def test_the_mean_of_the_epoch_counts() -> None:
    assert problem.check(history([0.5] * 3, [0.5] * 3, [0.0, 0.0, 1.0])) is None
    assert problem.check(history(SICK, SICK)) is not None


@pytest.mark.parametrize(
    ("epochs", "finished", "expected"),
    [
        pytest.param(20, 10, True, id="early-stage"),
        pytest.param(20, 11, False, id="late-stage"),
        pytest.param(None, 1, False, id="no-plan"),
    ],
)
def test_judged_in_the_first_half(epochs: int | None, finished: int, expected: bool) -> None:
    assert bool(problem.check(history(SICK, epochs=epochs, finished=finished))) is expected


def test_what_is_not_finite_is_left_to_another() -> None:
    assert problem.check(history(SICK, lost=1)) is None


def test_the_finding_names_the_layers_and_the_median() -> None:
    finding = ReducedGradient().check(history([1e-8, 4e-4, 4.0, 1e5]))
    assert finding is not None
    assert (finding.problem, finding.layers) == ("reduced_gradient", ("0", "1", "2"))
    assert finding.evidence == pytest.approx({"median": 4e-5})
