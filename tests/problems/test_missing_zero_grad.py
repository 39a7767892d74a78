from math import nan

import pytest

from sickbay.history import History
from sickbay.problems import MissingZeroGrad
from sickbay.vitals import Vitals

problem = MissingZeroGrad(checks=3)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        pytest.param([1.0, 1.0, 1.0], True, id="never-cleared"),
        pytest.param([0.0, 1.0, 1.0, 1.0], True, id="forgets-what-left-the-window"),
        pytest.param([1.0, 1.0], False, id="too-early"),
        pytest.param([0.0, 1.0, 1.0], False, id="not-long-enough"),
        pytest.param([1.0, 0.0, 1.0], False, id="cleared-between"),
        pytest.param([1.0, 1.0, 0.0], False, id="cleared-now"),
        pytest.param([0.0, 0.0, 0.0], False, id="always-cleared"),
        pytest.param([1.0, 1.0, nan], False, id="nan"),
        pytest.param([], False, id="no-reading"),
    ],
)
def test_check(flags: list[float], expected: bool) -> None:
    assert bool(problem.check(History(uncleared=flags, loss=[1.0]))) is expected


def test_readings_need_not_be_of_every_step() -> None:
    made = History(loss=[1.0] * 30)
    for step in (0, 10, 20):
        made.append(Vitals(step=step, scalars={"uncleared": 1.0}))
    assert problem.check(made) is not None


def test_the_finding_names_the_step_and_the_readings() -> None:
    made = History(uncleared=[1.0, 1.0, 1.0])
    made.append(Vitals(step=9, epoch=2, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("missing_zero_grad", "critical")
    assert (finding.step, finding.epoch, finding.layers) == (9, 2, ())
    assert finding.message == (
        "backward() added to the gradients of the last step in 3 readings in a row"
    )
