from collections.abc import Sequence
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import PassiveLoss
from sickbay.vitals import Setup

SPREAD = 2.0**-13
AT = [1 - SPREAD, 1 + SPREAD] * 2  # mean 1, standard deviation SPREAD, both exact
BELOW = [1 - SPREAD / 1.001, 1 + SPREAD / 1.001] * 2
problem = PassiveLoss(spread=SPREAD)


def history(losses: Sequence[float], epochs: int | None = 20) -> History:
    made = History(Setup(epochs=epochs))
    for loss in losses:
        made.end_epoch(loss=loss, val_loss=1.0)
    return made


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        pytest.param([2.3] * 3, True, id="still"),
        pytest.param(AT, False, id="at-the-limit"),
        pytest.param(BELOW, True, id="below-the-limit"),
        pytest.param([1.0, 0.9, 0.8], False, id="falling"),
        pytest.param([1.0, *[0.5] * 9], False, id="moved-at-first"),
        pytest.param([2.0**-30 * loss for loss in BELOW], True, id="any-scale-small"),
        pytest.param([2.0**30 * loss for loss in BELOW], True, id="any-scale-large"),
        pytest.param([2.0**30 * loss for loss in AT], False, id="any-scale-at-the-limit"),
        pytest.param([2.3] * 2, False, id="too-early"),
        pytest.param([], False, id="no-epoch"),
        pytest.param([2.3, nan, 2.3], False, id="nan"),
        pytest.param([inf] * 3, False, id="inf"),
        pytest.param([1e308] * 3, False, id="overflow"),
        pytest.param([0.0] * 3, False, id="zero"),
        pytest.param([-1.0, -5.0, -9.0], True, id="below-zero-as-published"),
    ],
)
def test_check(losses: list[float], expected: bool) -> None:
    assert bool(problem.check(history(losses))) is expected


@pytest.mark.parametrize(
    ("epochs", "finished", "expected"),
    [
        pytest.param(20, 10, True, id="early-stage"),
        pytest.param(20, 11, False, id="late-stage"),
        pytest.param(6, 3, True, id="third-of-six"),
        pytest.param(5, 3, False, id="third-of-five"),
        pytest.param(None, 3, False, id="no-plan"),
    ],
)
def test_judged_in_the_first_half(epochs: int | None, finished: int, expected: bool) -> None:
    assert bool(problem.check(history([2.3] * finished, epochs))) is expected


def test_a_trial_among_the_best_is_protected_from_it() -> None:
    assert PassiveLoss.yields_to_the_best
    assert PassiveLoss.protection_lasts


def test_the_finding_names_the_epoch_and_the_numbers() -> None:
    # Mean 2, standard deviation sqrt(2/3) * 1e-4, by hand.
    finding = PassiveLoss().check(history([2.0, 2.0001, 1.9999]))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("passive_loss", "warning")
    assert (finding.epoch, finding.layers) == (3, ())
    assert finding.evidence == pytest.approx({"spread": 4.0825e-5}, rel=1e-4)
    assert finding.message == "loss varied by 4.08e-05 of its mean in 3 epochs (limit 0.0001)"
