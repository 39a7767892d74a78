from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import Overfitting

problem = Overfitting(rise=0.25, least=0.125, epochs=2)
RISING = [0.5, 1.0, 1.0]


def history(val_losses: list[float], losses: list[float], first: float = 1.0) -> History:
    made = History(loss=[first])
    for loss, val_loss in zip(losses, val_losses, strict=True):
        made.end_epoch(loss=loss, val_loss=val_loss)
    return made


@pytest.mark.parametrize(
    ("val_losses", "losses", "expected"),
    [
        pytest.param(RISING, [0.5, 0.4, 0.3], True, id="rising"),
        pytest.param(RISING[:2], [0.5, 0.3], False, id="too-early"),
        pytest.param([1.0, 1.25, 1.25], [0.5, 0.4, 0.3], False, id="at-the-limit"),
        pytest.param([1.0, 1.26, 1.26], [0.5, 0.4, 0.3], True, id="above-the-limit"),
        pytest.param([0.5, 1.0, 0.5, 1.0], [0.5, 0.4, 0.3, 0.2], False, id="came-back"),
        pytest.param([0.5, 1.0, 0.6], [0.5, 0.4, 0.3], False, id="comes-back"),
        pytest.param(RISING, [0.5, 0.5, 0.46], False, id="training-stands-still"),
        pytest.param(RISING, [2.0, 1.5, 1.1], False, id="training-is-worse"),
        pytest.param([0.1, 0.2, 0.2], [0.5, 0.3, 0.1], False, id="a-small-rise"),
        pytest.param([nan, nan, nan], [0.5, 0.4, 0.3], False, id="nan"),
        pytest.param([0.5, inf, inf], [0.5, 0.4, 0.3], True, id="inf"),
    ],
)
def test_check(val_losses: list[float], losses: list[float], expected: bool) -> None:
    assert bool(problem.check(history(val_losses, losses))) is expected


def test_both_losses_are_needed() -> None:
    made = History(loss=[1.0])
    assert problem.check(made) is None
    for val_loss in RISING:
        made.end_epoch(val_loss=val_loss)
    assert problem.check(History()) is None


def test_the_finding_names_the_epoch_and_the_numbers() -> None:
    finding = problem.check(history(RISING, [0.5, 0.4, 0.25]))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("overfitting", "warning")
    assert (finding.epoch, finding.layers) == (3, ())
    assert finding.evidence == {"best": 0.5, "now": 1.0, "epoch_of_best": 0}
