from collections.abc import Sequence
from math import nan

import pytest

from sickbay.history import History
from sickbay.problems import FallingBehind
from sickbay.problems.compared import Comparison, Course
from sickbay.readings import Setup

problem = FallingBehind(share=0.25, least=1, needed=4, window=0.2, slack=2.0, near=0.0)
OTHERS = [Course([], [value]) for value in (0.25, 0.5, 0.75, 1.0)]


def found(
    values: Sequence[float], others: Sequence[Course] = OTHERS, epochs: int | None = 10,
    maximize: bool = True,
) -> bool:  # fmt: skip
    beside = Comparison(Course([], values), others, maximize)
    return problem.compare(History(Setup(epochs=epochs)), beside) is not None


@pytest.mark.parametrize(
    ("values", "expected"),
    [  # with 10 epochs the pace is that of the last 2
        pytest.param([0.0, 0.1, 0.1, 0.1], True, id="still"),
        pytest.param([0.0, 0.1, 0.1], False, id="too-early"),
        pytest.param([0.0, 0.0, 0.0, 0.14], True, id="too-slow"),  # 0.14 + 2 * 0.07 * 6 < 1
        pytest.param([0.0, 0.0, 0.0, 0.15], False, id="quick-enough"),  # 0.15 + 2 * 0.075 * 6 > 1
        pytest.param([0.0, 1.0, 0.0, 0.0], False, id="it-was-there"),
        pytest.param([0.1] * 10, False, id="over"),
        pytest.param([nan] * 4, False, id="nan"),
        pytest.param([nan, nan, 0.1, 0.1], False, id="no-pace"),
        pytest.param([], False, id="nothing"),
    ],
)
def test_compare(values: list[float], expected: bool) -> None:
    assert found(values) is expected


def test_what_is_near_enough() -> None:
    beside = Comparison(Course([], [0.0, 0.98, 0.98, 0.98]), OTHERS)
    history = History(Setup(epochs=10))
    strict, lenient = (FallingBehind(least=1, needed=4, near=near) for near in (0.01, 0.02))
    assert strict.compare(history, beside)
    assert lenient.compare(history, beside) is None


def test_it_needs_others() -> None:
    assert not found([0.1] * 4, OTHERS[1:])
    assert not found([0.1] * 4, [])


def test_it_needs_the_planned_epochs() -> None:
    assert not found([0.1] * 4, epochs=None)


def test_a_metric_that_should_fall() -> None:
    others = [Course([], [-value for value in each.values]) for each in OTHERS]
    assert found([0.0, -0.1, -0.1, -0.1], others, maximize=False)
    assert not found([0.0, 0.0, 0.0, -0.15], others, maximize=False)


def test_finding() -> None:
    beside = Comparison(Course([], [0.0, 0.0, 0.0, 0.125]), OTHERS)
    finding = problem.compare(History(Setup(epochs=10)), beside)
    assert finding is not None
    assert finding.message == (
        "0.125 after 4 epochs, gaining 0.0625 an epoch: it will not get to 1 as the best 25 % did"
    )
    assert finding.evidence == {"pace": 0.0625, "bar": 1.0}
