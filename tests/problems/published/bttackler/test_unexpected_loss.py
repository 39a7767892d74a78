from collections.abc import Sequence
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import UnexpectedLoss
from sickbay.vitals import Setup

# Of 10 epochs 3 are looked at. Slope of the last three: (last - first) / 2.
FALLING = [9.0, 8.0, 7.0, 6.0, 5.0, 4.0]
RISING = [*FALLING[:3], 1.0, 2.0, 3.0]  # slope 1, spread sqrt(2/3) / 2 = 0.41
problem = UnexpectedLoss(slope=1.0, spread=0.25)


def history(
    losses: Sequence[float], val_losses: Sequence[float] = (), epochs: int | None = 10
) -> History:
    made = History(Setup(epochs=epochs))
    for epoch in range(max(len(losses), len(val_losses))):
        curves = {"loss": losses, "val_loss": val_losses}
        made.end_epoch(**{name: curve[epoch] for name, curve in curves.items() if curve})
    return made


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        pytest.param(RISING, True, id="at-the-limit-of-the-slope"),
        pytest.param([*FALLING[:3], 1.0, 2.0, 2.999], False, id="below-the-limit-of-the-slope"),
        pytest.param([*FALLING[:4], 3.0, 5.0], False, id="unsteady-but-falling"),
        pytest.param([*FALLING[:3], 21.0, 22.0, 23.0], False, id="steady"),
        pytest.param([*FALLING[:3], 1.0, 9.0, 3.0], True, id="up-and-down"),
        pytest.param([0.0, 0.0, *RISING[2:]], True, id="forgets-what-left-the-window"),
        pytest.param([value * 1e-3 for value in RISING], False, id="any-scale-small"),
        pytest.param([value * 1e3 for value in RISING], True, id="any-scale-large"),
        pytest.param(RISING[1:], False, id="too-early"),
        pytest.param([*RISING[:5], nan], False, id="nan"),
        pytest.param([nan, *RISING[1:]], True, id="nan-before-the-window"),
        pytest.param([*RISING[:5], inf], False, id="inf"),
        pytest.param([0.0] * 6, False, id="zero"),
        pytest.param([], False, id="no-epoch"),
    ],
)
def test_check(losses: list[float], expected: bool) -> None:
    assert bool(problem.check(history(losses))) is expected
    assert bool(problem.check(history([], losses))) is expected
    assert bool(problem.check(history(FALLING[: len(losses)], losses))) is expected


@pytest.mark.parametrize(
    ("spread", "expected"),
    [
        pytest.param(0.5, False, id="at-the-limit"),
        pytest.param(0.499999, True, id="above-the-limit"),
    ],
)
def test_spread(spread: float, expected: bool) -> None:
    # Of 4 epochs 2 are looked at: 1 and 3 have mean 2 and standard deviation 1.
    made = history([9.0, 1.0, 3.0], epochs=4)
    assert bool(UnexpectedLoss(spread=spread).check(made)) is expected


@pytest.mark.parametrize(
    ("epochs", "expected"),
    [
        pytest.param(11, True, id="late-stage"),  # the 6th of 11 is the first late one
        pytest.param(12, False, id="early-stage"),
        pytest.param(None, False, id="no-plan"),
    ],
)
def test_judged_in_the_second_half(epochs: int | None, expected: bool) -> None:
    assert bool(problem.check(history(RISING, epochs=epochs))) is expected


def test_six_of_twenty_epochs_are_looked_at() -> None:
    made = history([9.0] * 5 + [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], epochs=20)
    finding = UnexpectedLoss().check(made)
    assert finding is not None
    # By hand: slope 1; mean 2.5, variance 35 / 12.
    assert finding.evidence == pytest.approx({"slope": 1.0, "spread": (35 / 12) ** 0.5 / 2.5})


def test_a_loss_that_is_given_once_is_not_judged() -> None:
    made = history(FALLING)
    made.end_epoch(val_loss=50.0)
    assert problem.check(made) is None


def test_the_finding_names_the_epoch_and_the_numbers() -> None:
    finding = UnexpectedLoss().check(history(FALLING, [9.0, 8.0, 7.0, 1.0, 2.0, 6.0]))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("unexpected_loss", "warning")
    assert (finding.epoch, finding.layers) == (6, ())
    assert finding.evidence == pytest.approx({"slope": 2.5, "spread": 0.72008}, rel=1e-4)
    assert finding.message == (
        "val_loss rises by 2.5 per epoch (limit 0.01) and varies by 0.72 of its mean (limit 0.2)"
    )
    assert not UnexpectedLoss.yields_to_the_best
