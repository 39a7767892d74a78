from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import Plateau
from sickbay.vitals import Vitals

AT = [1.75, 2.25, 1.75, 2.25]  # variance 1/16
BELOW = [1.75, 2.249, 1.75, 2.249]
problem = Plateau(variance=0.0625, window=4)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        pytest.param(AT, False, id="at-the-limit"),
        pytest.param(BELOW, True, id="below-the-limit"),
        pytest.param([2.0] * 4, True, id="still"),
        pytest.param([2.0] * 3, False, id="too-early"),
        pytest.param([9.0, *BELOW], True, id="forgets-what-left-the-window"),
        pytest.param([4.0, 3.0, 2.0, 1.0], False, id="falling"),
        pytest.param([1e-3 * loss for loss in [4.0, 3.0, 2.0, 1.0]], True, id="any-scale-small"),
        pytest.param([1e3 * loss for loss in BELOW], False, id="any-scale-large"),
        pytest.param([2.0, 2.0, 2.0, nan], False, id="nan"),
        pytest.param([nan, 2.0, 2.0, 2.0, 2.0], True, id="nan-before-the-window"),
        pytest.param([inf] * 4, False, id="inf"),
        pytest.param([1e200, -1e200] * 2, False, id="overflow"),
        pytest.param([], False, id="no-loss"),
    ],
)
def test_check(losses: list[float], expected: bool) -> None:
    assert bool(problem.check(History(loss=losses))) is expected


def test_the_published_window_is_twenty() -> None:
    assert Plateau().check(History(loss=[2.0] * 20)) is not None
    assert Plateau().check(History(loss=[2.0] * 19)) is None
    assert Plateau().check(History(loss=[2.0, 2.018] * 10)) is not None  # variance 0.81e-4
    assert Plateau().check(History(loss=[2.0, 2.022] * 10)) is None  # variance 1.21e-4


def test_the_finding_names_the_step_and_the_numbers() -> None:
    made = History(loss=[9.0, 1.0, 1.25, 1.0, 1.25])
    made.append(Vitals(step=9, epoch=2, scalars={"grad_norm": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("plateau", "warning")
    assert (finding.step, finding.epoch) == (4, 2)
    assert finding.evidence == {"variance": 0.015625}
    assert finding.message == "variance of the loss 0.0156 over 4 steps (limit 0.0625)"
