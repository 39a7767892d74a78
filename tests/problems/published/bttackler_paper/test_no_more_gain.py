from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems.published.bttackler_paper import NoMoreGain
from sickbay.vitals import Setup

START = [9.0, 8.0, 7.0, 6.0, 5.0]  # of 20 epochs the newest 6 are looked at
problem = NoMoreGain()


def history(losses: list[float], epochs: int | None = 20, name: str = "loss") -> History:
    made = History(Setup(epochs=epochs))
    for loss in losses:
        made.end_epoch(**{name: loss})
    return made


@pytest.mark.parametrize(
    ("newest", "expected"),
    [
        pytest.param([5.1, 5.1, 5.2, 5.3, 5.4, 5.5], True, id="no-new-low"),
        pytest.param([5.0, 6.0, 6.0, 6.0, 6.0, 6.0], False, id="at-the-limit"),
        pytest.param([4.9, 9.0, 9.0, 9.0, 9.0, 9.0], False, id="a-low-at-first"),
        pytest.param([2.0, 2.0, 2.0, 2.0, 2.0, 2.5], False, id="rising-but-lower-than-before"),
        pytest.param([nan, 5.1, 5.1, 5.1, 5.1, 5.1], True, id="nan-in-the-window"),
        pytest.param([inf] * 6, True, id="inf"),
    ],
)
def test_check(newest: list[float], expected: bool) -> None:
    assert bool(problem.check(history([*START, *newest]))) is expected
    assert problem.check(history([*START, *newest], name="val_loss")) is None


@pytest.mark.parametrize(
    ("epochs", "finished", "expected"),
    [
        pytest.param(20, 10, False, id="too-early"),
        pytest.param(20, 11, True, id="late-stage"),
        pytest.param(2, 2, False, id="nothing-before-the-window"),
        pytest.param(None, 11, False, id="no-plan"),
    ],
)
def test_judged_in_the_second_half(epochs: int | None, finished: int, expected: bool) -> None:
    rising = [float(epoch) for epoch in range(finished)]
    assert bool(problem.check(history(rising, epochs))) is expected


def test_the_finding_is_benign_and_has_the_losses() -> None:
    finding = problem.check(history([*START, *[5.5] * 6]))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("no_more_gain", "info")
    assert finding.evidence == {"before": 5.0, "now": 5.5}
    assert problem.benign
