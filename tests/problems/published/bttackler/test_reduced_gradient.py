from math import nan

import pytest

from sickbay.problems import ReducedGradient
from tests.problems.published.gradient_means import history

HEALTHY, SICK = [0.5, 0.5, 0.5], [1e-9, 5e-5, 1.0]  # sick: ratios 2e-5 and 5e-5
problem = ReducedGradient()
by_ratio = ReducedGradient(ratio=2.0**-13, mean=1e-300)
by_mean = ReducedGradient(ratio=1e-300, mean=2.0**-17)


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        pytest.param(SICK, True, id="reduced"),
        pytest.param([2.0**-13, 1.0], False, id="at-the-limit"),
        pytest.param([2.0**-13 * (1 - 1e-9), 1.0], True, id="below-the-limit"),
        pytest.param([1e-9, 1.0, 1.0, 1.0], False, id="at-one-layer-of-three"),
        pytest.param([1e-9, 1.0, 1.0], False, id="mean-of-the-two-in-the-middle"),
        pytest.param(SICK[::-1], False, id="amplified"),
        pytest.param([value * 1e-9 for value in SICK], True, id="any-scale-small"),
        pytest.param([value * 1e9 for value in SICK], True, id="any-scale-large"),
        pytest.param([1e-9] * 3, False, id="small-everywhere"),
        pytest.param([1.0, 1.0, 0.0, 1.0], True, id="a-layer-of-zeros"),
        pytest.param([0.0], True, id="one-layer-of-zeros"),
        pytest.param([nan, nan], False, id="nan"),
        pytest.param([1e-9, nan, 1.0], True, id="nan-between"),
        pytest.param([1e-9], False, id="one-layer"),
        pytest.param([], False, id="no-layer"),
    ],
)
def test_ratio(means: list[float], expected: bool) -> None:
    assert bool(by_ratio.check(history(means))) is expected


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        pytest.param([2.0**-17] * 3, False, id="at-the-limit"),
        pytest.param([2.0**-17 * (1 - 1e-9)] * 3, True, id="below-the-limit"),
        pytest.param([1.0, 1e-9, 1e-9], True, id="small-in-most"),
        pytest.param([1e-9, 1.0, 1.0], False, id="small-in-one"),
        pytest.param([1e-9], True, id="one-layer"),
        pytest.param([nan, 1e-9], True, id="nan-in-one"),
    ],
)
def test_mean(means: list[float], expected: bool) -> None:
    assert bool(by_mean.check(history(means))) is expected


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
    assert problem.check(history(SICK, SICK)) is not None
    assert problem.check(history(HEALTHY, SICK)) is None
    assert problem.check(history(SICK, HEALTHY)) is None


def test_a_last_batch_of_zeros_is_not_an_epoch_of_zeros() -> None:
    assert problem.check(history(*[HEALTHY] * 9, [0.0] * 3)) is None
    assert problem.check(history(*[[0.0] * 3] * 10)) is not None


def test_what_is_not_finite_is_left_to_another() -> None:
    assert problem.check(history(SICK, lost=1)) is None


def test_biases_are_left_out() -> None:
    assert problem.check(history([1.0, 1.0], bias=0.0)) is None


def test_a_trial_among_the_best_is_protected_from_it() -> None:
    assert ReducedGradient.yields_to_the_best
    assert ReducedGradient.protection_lasts


@pytest.mark.parametrize(
    ("means", "message", "layers", "evidence"),
    [
        pytest.param(
            [1e-8, 4e-4, 4.0, 1e5],
            "mean |gradient| median 2 (limit 1e-05), "
            "over that of the next layer 4e-05 (limit 0.0001)",
            ("0", "2"),
            {"median": 2.0002, "ratio": 4e-5},
            id="ratio",
        ),
        pytest.param(
            [1.0, 1e-5, 1e-6, 1e-6, 1e-6],
            "mean |gradient| median 1e-06 (limit 1e-05), "
            "over that of the next layer 5.5 (limit 0.0001)",
            ("2", "3", "4"),
            {"median": 1e-6, "ratio": 5.5},
            id="mean",
        ),
        pytest.param(
            [1.0, 0.0, 1.0],
            "mean |gradient| median 1 (limit 1e-05), over that of the next layer 0 (limit 0.0001)",
            ("1",),
            {"median": 1.0, "ratio": 0.0},
            id="zero",
        ),
    ],
)
def test_the_finding_names_the_step_the_layers_and_the_numbers(
    means: list[float], message: str, layers: tuple[str, ...], evidence: dict[str, float]
) -> None:
    finding = problem.check(history(means, means))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("reduced_gradient", "warning")
    assert (finding.step, finding.epoch) == (1, 1)
    assert (finding.message, finding.layers) == (message, layers)
    assert finding.evidence == pytest.approx(evidence)
