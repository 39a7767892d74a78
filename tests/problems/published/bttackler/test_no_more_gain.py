from collections.abc import Sequence
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import NoMoreGain
from sickbay.vitals import Setup

# Of 20 epochs 6 are looked at: the newest 3 against the 3 before.
START = [9.0, 8.0, 7.0, 6.0, 5.0]
FALLING = [4.0, 3.5, 3.0, 2.5, 2.0, 1.5]
problem = NoMoreGain()


def history(
    losses: Sequence[float], val_losses: Sequence[float] = (), epochs: int | None = 20
) -> History:
    made = History(Setup(epochs=epochs))
    for epoch in range(max(len(losses), len(val_losses))):
        curves = {"loss": losses, "val_loss": val_losses}
        made.end_epoch(**{name: curve[epoch] for name, curve in curves.items() if curve})
    return made


@pytest.mark.parametrize(
    ("newest", "expected"),
    [
        pytest.param([2.0, 2.0, 2.0, 2.0, 2.0, 2.5], True, id="rising"),
        pytest.param([2.0] * 6, False, id="at-the-limit"),
        pytest.param([1.0, 2.0, 3.0, 3.0, 2.0, 1.0], False, id="as-good-as-before"),
        pytest.param([1.0, 2.0, 3.0, 3.0, 2.0, 1.001], True, id="above-the-limit"),
        pytest.param(FALLING, False, id="falling"),
        pytest.param([3.0, 3.0, 3.0, 9.0, 1.0, 1.0], True, id="a-spike"),
        pytest.param([1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 2e-9], True, id="any-scale-small"),
        pytest.param([1e9, 1e9, 1e9, 1e9, 1e9, 2e9], True, id="any-scale-large"),
        pytest.param([-3.0, -3.0, -3.0, -2.0, -2.0, -2.0], True, id="below-zero"),
        pytest.param([2.0, 2.0, 2.0, 2.0, 2.0, nan], False, id="nan"),
        pytest.param([nan, 2.0, 2.0, 2.0, 2.0, 2.5], False, id="nan-before"),
        pytest.param([inf] * 6, False, id="inf"),
    ],
)
def test_check(newest: list[float], expected: bool) -> None:
    losses = [*START, *newest]
    assert bool(problem.check(history(losses))) is expected
    assert bool(problem.check(history([], losses))) is expected
    assert bool(problem.check(history([*START, *FALLING], losses))) is expected


@pytest.mark.parametrize(
    ("epochs", "finished", "expected"),
    [
        pytest.param(20, 10, False, id="too-early"),
        pytest.param(20, 11, True, id="late-stage"),
        pytest.param(20, 20, True, id="last-epoch"),
        pytest.param(1, 1, False, id="one-epoch"),
        pytest.param(2, 2, True, id="two-epochs"),
        pytest.param(None, 11, False, id="no-plan"),
        pytest.param(20, 0, False, id="no-epoch"),
    ],
)
def test_judged_in_the_second_half(epochs: int | None, finished: int, expected: bool) -> None:
    rising = [float(epoch) for epoch in range(finished)]
    assert bool(problem.check(history(rising, epochs=epochs))) is expected


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        # Of 17 epochs 5 are looked at: the newest 2 against the 3 before.
        pytest.param([0.0, 0.0, 0.0, 0.0, 1.0, 3.0, 3.0, 2.0, 2.5], False, id="below"),
        pytest.param([9.0, 9.0, 9.0, 9.0, 1.0, 3.0, 2.0, 2.0, 2.5], True, id="above"),
    ],
)
def test_an_odd_window(losses: list[float], expected: bool) -> None:
    assert bool(problem.check(history(losses, epochs=17))) is expected


def test_a_loss_that_is_given_once_is_not_judged() -> None:
    made = history([*START, *FALLING])
    made.end_epoch(val_loss=50.0)
    assert problem.check(made) is None


def test_a_trial_among_the_best_is_protected_from_it() -> None:
    assert NoMoreGain.yields_to_the_best
    assert NoMoreGain.protection_lasts


def test_the_finding_names_the_epoch_and_the_numbers() -> None:
    losses = [*START, 2.0, 2.5, 3.0, 2.5, 2.75, 3.0]
    finding = problem.check(history([*START, *FALLING], losses))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("no_more_gain", "info")
    assert (finding.epoch, finding.layers) == (11, ())
    assert finding.evidence == {"before": 2.5, "now": 2.75}
    assert finding.message == "mean val_loss rose from 2.5 to 2.75 within 6 epochs"
