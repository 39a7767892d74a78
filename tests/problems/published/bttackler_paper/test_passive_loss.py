from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems.published.bttackler_paper import PassiveLoss
from sickbay.vitals import Setup

problem = PassiveLoss(change=2.0**-10)


def history(losses: list[float], epochs: int | None = 20) -> History:
    made = History(Setup(epochs=epochs))
    for loss in losses:
        made.end_epoch(loss=loss)
    return made


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        pytest.param([2.0, 2.0], True, id="still"),
        pytest.param([1024.0, 1023.0, 1022.0], False, id="at-the-limit"),
        pytest.param([1024.0, 1023.0, 1023.0], True, id="below-the-limit"),
        pytest.param([1024.0, 1025.0, 1024.5], True, id="up-and-down"),
        pytest.param([1024.0, 1026.0, 1024.0], False, id="swings-count"),
        pytest.param([4.0, 2.0, 2.0, 2.0, 2.0], False, id="one-fall-is-enough"),
        pytest.param([2e-9, 2e-9, 2e-9], True, id="any-scale-small"),
        pytest.param([2e9, 1e9, 2e9], False, id="any-scale-large"),
        pytest.param([-1024.0, -1024.5], True, id="below-zero"),
        pytest.param([0.0, 0.0], False, id="zero"),
        pytest.param([nan, nan, nan], False, id="nan"),
        pytest.param([inf, inf, inf], False, id="inf"),
        pytest.param([2.0], False, id="too-early"),
        pytest.param([], False, id="no-epoch"),
    ],
)
def test_check(losses: list[float], expected: bool) -> None:
    assert bool(problem.check(history(losses))) is expected


@pytest.mark.parametrize(
    ("epochs", "finished", "expected"),
    [
        pytest.param(20, 10, True, id="early-stage"),
        pytest.param(20, 11, False, id="late-stage"),
        pytest.param(None, 3, False, id="no-plan"),
    ],
)
def test_judged_in_the_first_half(epochs: int | None, finished: int, expected: bool) -> None:
    assert bool(problem.check(history([2.0] * finished, epochs))) is expected


def test_the_finding_has_the_change() -> None:
    finding = problem.check(history([1024.0, 1023.0, 1023.0]))
    assert finding is not None
    assert (finding.problem, finding.evidence) == ("passive_loss", {"change": 2.0**-11})
