from collections.abc import Sequence
from math import nan

import pytest

from sickbay.history import History
from sickbay.problems import OutOfReach
from sickbay.problems.trials.comparison import Comparison, LearningCurve
from sickbay.vitals import Setup

problem = OutOfReach(share=0.25, least=2, needed=4, slack=1.0, after=2)
# After 2 epochs 0.25 to 0.5, at the end 0.5 to 1.0: the most that any has gained is 0.5.
OVER = [LearningCurve([], [0.0, end / 2, end], over=True) for end in (0.5, 0.625, 0.75, 1.0)]


def found(values: Sequence[float], others: Sequence[LearningCurve], maximize: bool = True) -> bool:
    beside = Comparison(LearningCurve([], values), others, maximize)
    return problem.compare(History(), beside) is not None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([0.1, 0.2], True, id="far-below"),
        pytest.param([0.1, 0.25], False, id="at-the-limit"),
        pytest.param([0.1, 0.249], True, id="below-the-limit"),
        pytest.param([0.1], False, id="too-early"),
        pytest.param([], False, id="nothing"),
        pytest.param([0.3, 0.0], False, id="its-best-counts"),
        pytest.param([0.9, 0.9], False, id="one-of-the-best"),
        pytest.param([nan, nan], True, id="nan"),
        pytest.param([nan, 0.3], False, id="nan-first"),
    ],
)
def test_compare(values: list[float], expected: bool) -> None:
    assert found(values, OVER) is expected


def test_the_bar_is_what_the_best_have_got_to() -> None:
    assert not found([0.0, 0.3], OVER)  # the second of four: 0.75
    more = [*OVER, LearningCurve([], [1.0, 1.0, 1.0], over=True)]
    assert found([0.0, 0.3], more)  # the second of five: 1.0


def test_trials_that_are_not_over_count_for_the_bar_only() -> None:
    running = [LearningCurve([], [0.0, 1.0])] * 2
    assert found([0.0, 0.3], [*OVER, *running])
    assert not found([0.0, 0.0], [*OVER[:3], *running])  # only three are over


def test_a_metric_that_should_fall() -> None:
    others = [LearningCurve([], [-value for value in each.values], over=each.over) for each in OVER]
    assert found([-0.1, -0.2], others, maximize=False)
    assert not found([-0.1, -0.25], others, maximize=False)


def test_slack() -> None:
    beside = Comparison(LearningCurve([], [0.1, 0.2]), OVER)
    assert OutOfReach(least=2, needed=4, slack=1.0).compare(History(), beside)
    assert OutOfReach(least=2, needed=4, slack=1.2).compare(History(), beside) is None


@pytest.mark.parametrize(
    ("values", "epochs", "expected"),
    [
        pytest.param([0.0, 0.1], 12, False, id="its-pace-would-do"),  # 0.1 + 10 * 0.1 > 0.75
        pytest.param([0.0, 0.1], 6, True, id="too-few-epochs-left"),  # 0.1 + 4 * 0.1 < 0.75
        pytest.param([0.1, 0.1], 12, True, id="no-pace"),
    ],
)
def test_its_own_pace_may_save_it(values: list[float], epochs: int, expected: bool) -> None:
    steady = OutOfReach(share=0.25, least=2, needed=4, slack=1.0, pace=1.0)
    beside = Comparison(LearningCurve([], values), OVER)
    assert bool(steady.compare(History(Setup(epochs=epochs)), beside)) is expected


@pytest.mark.parametrize(
    ("lucky", "expected"),
    [
        pytest.param(0.0, False, id="every-gain-counts"),
        pytest.param(0.1, True, id="one-of-ten-was-luck"),
        pytest.param(1.0, True, id="all-but-the-least"),
    ],
)
def test_the_luckiest_do_not_count(lucky: float, expected: bool) -> None:
    usual = [LearningCurve([], [0.0, 0.5, 0.6], over=True)] * 9
    others = [*usual, LearningCurve([], [0.0, 0.0, 0.6], over=True)]
    beside = Comparison(LearningCurve([], [0.0, 0.1]), others)
    judged = OutOfReach(share=0.25, least=2, needed=4, slack=1.0, lucky=lucky)
    assert bool(judged.compare(History(), beside)) is expected


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        pytest.param([3.0, 2.5], False, id="recovers"),
        pytest.param([3.0, 2.99], True, id="no-longer"),
        pytest.param([2.5, 2.0], True, id="at-the-limit-it-was-not-thrown-off"),
        pytest.param([1.9, 1.5], True, id="never-thrown-off"),
        pytest.param([nan, 2.5], True, id="nan"),
        pytest.param([], True, id="no-losses"),
    ],
)
def test_a_trial_that_recovers_is_left_alone(losses: list[float], expected: bool) -> None:
    history = History(Setup(epochs=20), loss=[2.0] * 5)
    for loss in losses:
        history.end_epoch(loss=loss)
    beside = Comparison(LearningCurve(losses, [0.2, 0.2]), OVER)
    assert bool(problem.compare(history, beside)) is expected


def test_alone_nothing_is_out_of_reach() -> None:
    assert not found([0.0, 0.0, 0.0], [])
    assert problem.check(History()) is None


def test_finding() -> None:
    finding = problem.compare(History(), Comparison(LearningCurve([], [0.1, 0.2]), OVER))
    assert finding is not None
    assert finding.message == (
        "0.2 after 2 epochs, 0.55 short of the best 25 %; "
        "hardly any trial gained over 0.5 from here"
    )
    assert finding.evidence == {"lack": 0.55, "most": 0.5}
