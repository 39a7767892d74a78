from math import nan

import pytest

from sickbay.history import History
from sickbay.problems.published.bttackler_paper import LowActivation

problem = LowActivation()


def history(*readings: list[float]) -> History:
    made = History()
    for step, shares in enumerate(readings):
        rows = {str(index): {"dead_units": share} for index, share in enumerate(shares)}
        made.add_table("activation", rows, step)
    made.end_epoch(loss=1.0)
    return made


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        pytest.param([0.9, 0.8, 0.7], True, id="low"),
        pytest.param([0.0, 0.0, 0.6], True, id="in-one-layer"),
        pytest.param([0.5, 0.5], False, id="at-the-limit"),
        pytest.param([nan, nan], False, id="nan"),
        pytest.param([nan, 1.0], True, id="nan-in-one-layer"),
        pytest.param([], False, id="no-layer"),
    ],
)
def test_check(shares: list[float], expected: bool) -> None:
    assert bool(problem.check(history(shares))) is expected


def test_the_mean_of_the_epoch_counts() -> None:
    assert problem.check(History()) is None
    assert problem.check(history([0.0], [1.0])) is None
    assert problem.check(history([0.9], [0.2])) is not None


def test_the_finding_names_the_layers_and_the_largest_share() -> None:
    finding = problem.check(history([0.6, 0.1, 0.75]))
    assert finding is not None
    assert (finding.problem, finding.layers) == ("low_activation", ("0", "2"))
    assert finding.evidence == {"largest": 0.75}
    assert finding.message == "75 % of the units of 2 are zero (limit 50 %)"
