from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems.published.bttackler_paper import AbnormalGradient

problem = AbnormalGradient()


def history(*readings: list[float], lost: float = 0) -> History:
    made = History()
    for step, reading in enumerate(readings):
        rows = {
            f"{index}.weight": {"absmax": largest, "nonfinite": lost}
            for index, largest in enumerate(reading)
        }
        made.add_table("gradient", rows, step)
    made.end_epoch(loss=1.0)
    return made


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        pytest.param([9e4, 2e4, 1e4], True, id="large"),
        pytest.param([0.1, 0.1, 2e4], True, id="large-in-one-layer"),
        pytest.param([0.1, 0.1, 1e4], True, id="at-the-limit"),
        pytest.param([0.1, 0.1, 9999.9], False, id="below-the-limit"),
        pytest.param([inf, 0.1], True, id="overflow"),
        pytest.param([nan, nan], False, id="nan-not-measured"),
        pytest.param([], False, id="no-layer"),
    ],
)
def test_check(reading: list[float], expected: bool) -> None:
    assert bool(problem.check(history(reading))) is expected


def test_the_mean_of_the_epoch_counts() -> None:
    assert problem.check(History()) is None
    assert problem.check(history([0.0], [1.9e4])) is None
    assert problem.check(history([2.1e4], [0.0])) is not None
    assert problem.check(history([0.1], [0.1], lost=1)) is not None


def test_the_finding_names_the_largest_and_every_large_layer() -> None:
    finding = problem.check(history([2e4, 0.1, 8e4]))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("abnormal_gradient", "critical")
    assert (finding.layers, finding.evidence) == (("0", "2"), {"largest": 8e4})
    assert finding.message == "largest |gradient| 8e+04 in 2 (limit 10000)"
