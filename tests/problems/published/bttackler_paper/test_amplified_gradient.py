from math import nan

import pytest

from sickbay.problems.published.bttackler_paper import AmplifiedGradient
from tests.problems.published.gradient_means import history

problem = AmplifiedGradient(ratio=1024)
SICK = [4e6, 2e3, 1.0]  # ratios 2000 and 2000


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        pytest.param(SICK, True, id="amplified"),
        pytest.param([1024.0, 1.0], True, id="at-the-limit"),
        pytest.param([1023.0, 1.0], False, id="below-the-limit"),
        pytest.param([1e6, 1.0, 1.0, 1.0], False, id="at-one-layer-of-three"),
        pytest.param([1.0, 1.0, 0.0, 1.0], False, id="one-layer-of-zeros"),
        pytest.param([0.0, 0.0, 0.0], False, id="all-zeros"),
        pytest.param(SICK[::-1], False, id="reduced"),
        pytest.param([1e6, nan, 1.0], True, id="nan-between"),
        pytest.param([1e6], False, id="one-layer"),
        pytest.param([], False, id="no-layer"),
    ],
)
def test_check(means: list[float], expected: bool) -> None:
    assert bool(problem.check(history(means))) is expected


def test_the_mean_of_the_epoch_counts() -> None:
    assert problem.check(history([1e3] * 3, SICK)) is None
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
    finding = AmplifiedGradient().check(history([8e9, 2e6, 2e3, 1.0]))
    assert finding is not None
    assert (finding.problem, finding.layers) == ("amplified_gradient", ("0", "1", "2"))
    assert finding.evidence == {"median": 2e3}
    assert not problem.yields_to_the_best
