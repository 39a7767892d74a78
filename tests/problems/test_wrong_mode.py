from math import nan

import pytest

from sickbay.history import History
from sickbay.problems import WrongMode
from sickbay.vitals import Vitals

problem = WrongMode(checks=3)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        pytest.param([1.0, 1.0, 1.0], True, id="in-evaluation"),
        pytest.param([0.0, 1.0, 1.0, 1.0], True, id="since-an-evaluation"),
        pytest.param([1.0, 1.0], False, id="too-early"),
        pytest.param([0.0, 1.0, 1.0], False, id="not-long-enough"),
        pytest.param([1.0, 0.0, 1.0], False, id="now-and-then"),
        pytest.param([1.0, 1.0, 0.0], False, id="no-more"),
        pytest.param([0.0, 0.0, 0.0], False, id="in-training"),
        pytest.param([1.0, 1.0, nan], False, id="nan"),
        pytest.param([], False, id="mode-does-not-matter"),
    ],
)
def test_check(flags: list[float], expected: bool) -> None:
    assert bool(problem.check(History(in_eval=flags, loss=[1.0]))) is expected


def test_it_counts_however_well_the_model_learns() -> None:
    made = History(in_eval=[1.0] * 3, loss=[1.0, 0.5, 0.1], accuracy=[0.5, 0.9, 0.99])
    assert problem.check(made) is not None


def test_the_finding_names_the_step_and_the_readings() -> None:
    made = History(in_eval=[1.0, 1.0, 1.0])
    made.append(Vitals(step=9, epoch=2, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("wrong_mode", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (9, 2, ())
    assert finding.message == "model.training was False in 3 readings in a row"
