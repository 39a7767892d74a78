from collections.abc import Sequence
from math import nan

import pytest

from sickbay.history import History
from sickbay.problems import NoRecentGain
from sickbay.problems.trials.comparison import Comparison, LearningCurve
from sickbay.vitals import Setup

problem = NoRecentGain(window=0.25, gain=0.0, after=0.5)


def found(
    values: Sequence[float], problem: NoRecentGain = problem, *, epochs: int | None = 12,
    maximize: bool = True,
) -> bool:  # fmt: skip
    history = History(Setup(epochs=epochs))
    for _ in values:
        history.end_epoch()
    return problem.compare(history, Comparison(LearningCurve([], values), (), maximize)) is not None


@pytest.mark.parametrize(
    ("values", "expected"),
    [  # of 12 epochs 6 must be over, and the last 3 without a gain
        pytest.param([0.1, 0.2, 0.5, 0.5, 0.5, 0.5], True, id="still"),
        pytest.param([0.1, 0.2, 0.5, 0.4, 0.3, 0.2], True, id="falling"),
        pytest.param([0.1, 0.2, 0.5, 0.4, 0.4, 0.501], False, id="a-little-gain"),
        pytest.param([0.1, 0.2, 0.5, 0.6, 0.4, 0.4], False, id="a-gain-before-the-last"),
        pytest.param([0.5, 0.5, 0.5, 0.5, 0.5], False, id="too-early"),
        pytest.param([0.1, 0.2, 0.5, nan, nan, nan], True, id="nan-since"),
        pytest.param([nan] * 6, False, id="nan"),
        pytest.param([], False, id="nothing"),
    ],
)
def test_compare(values: list[float], expected: bool) -> None:
    assert found(values) is expected


def test_gains_that_do_not_count() -> None:
    loose = NoRecentGain(window=0.25, gain=0.05)
    assert found([0.1, 0.2, 0.5, 0.5, 0.5, 0.52], loose)
    assert not found([0.1, 0.2, 0.5, 0.5, 0.5, 0.53], loose)


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        pytest.param([0.1] * 6, True, id="constant"),
        pytest.param([0.1, 0.1 + 1e-17, 0.1 + 3e-17, 0.1, 0.1, 0.1], True, id="rounded"),
        pytest.param([0.1, 0.1 + 2e-16, 0.1, 0.1 - 2e-16, 0.1, 0.1], True, id="a-bit-off"),
        pytest.param([0.1, 0.1, 0.1, 0.09, 0.08, 0.07], False, id="still-high"),
        pytest.param([0.1, 0.1, 0.1, 0.08, 0.06, 0.05], True, id="lowered-by-half"),
        pytest.param([0.01, 0.02, 0.03, 0.04, 0.05, 0.06], False, id="rising"),
    ],
)
def test_while_the_learning_rate_is_high_there_is_hope(rates: list[float], expected: bool) -> None:
    history = History(Setup(epochs=12))
    for rate in rates:
        history.end_epoch(lr=rate)
    beside = Comparison(LearningCurve([], [0.1, 0.2, 0.5, 0.5, 0.5, 0.5]))
    assert bool(problem.compare(history, beside)) is expected


def test_it_needs_the_planned_epochs() -> None:
    assert not found([0.5] * 13, epochs=None)


def test_a_metric_that_should_fall() -> None:
    assert found([0.6, 0.5, 0.3, 0.4, 0.5, 0.6], maximize=False)
    assert not found([0.7, 0.6, 0.5, 0.4, 0.3, 0.2], maximize=False)


def test_it_is_benign() -> None:
    assert problem.benign
    assert not problem.yields_to_the_best  # what was reached is not lost


def test_finding() -> None:
    history = History(Setup(epochs=12))
    for _ in range(6):
        history.end_epoch()
    finding = problem.compare(
        history, Comparison(LearningCurve([], [0.1, 0.2, 0.5, 0.5, 0.5, 0.5]))
    )
    assert finding is not None
    assert finding.message == "0.5 was reached 3 epochs ago"
    assert finding.severity == "info"
