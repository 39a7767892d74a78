from collections.abc import Sequence
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import OscillatingAccuracy
from sickbay.vitals import Setup

SWINGING = [0.5, 0.75, 0.5, 0.75, 0.5]  # maxima 0.75, 0.75 and one minimum, 0.5: one pair
RISING = [0.1, 0.2, 0.3, 0.4, 0.5]
problem = OscillatingAccuracy(size=0.25, share=0.2)


def history(
    accuracy: Sequence[float], val_accuracy: Sequence[float] = (), epochs: int | None = None
) -> History:
    made = History(Setup(epochs=epochs))
    for epoch in range(max(len(accuracy), len(val_accuracy))):
        curves = {"accuracy": accuracy, "val_accuracy": val_accuracy}
        made.end_epoch(**{name: curve[epoch] for name, curve in curves.items() if curve})
    return made


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        pytest.param(SWINGING, True, id="at-the-limits"),
        pytest.param([0.5, 0.7499, 0.5, 0.7499, 0.5], False, id="below-the-limit-of-the-size"),
        pytest.param([*SWINGING, 0.4], False, id="below-the-limit-of-the-share"),
        pytest.param([*SWINGING, 0.75, 0.5], True, id="two-pairs-of-seven"),
        pytest.param(RISING, False, id="rising"),
        pytest.param([0.5] * 9, False, id="flat"),
        pytest.param([0.5, 0.75, 0.5], False, id="one-peak"),
        pytest.param([0.75, 0.75, 0.5, 0.55, 0.6], True, id="level-before-the-maximum"),
        pytest.param([0.7, 0.5, 0.75, 0.75, 0.8], True, id="level-after-the-maximum"),
        pytest.param([0.5, 0.5, 0.75, 0.7, 0.65], True, id="level-before-the-minimum"),
        pytest.param([0.7, 0.75, 0.5, 0.5, 0.4], True, id="level-after-the-minimum"),
        pytest.param([0.75, 0.5, 0.75, 0.5, 0.75], True, id="minimum-first"),
        pytest.param([0.9, 0.1, 0.3, 0.2, 0.9], False, id="pairs-by-rank-not-by-depth"),
        pytest.param([0.4, 0.5, 0.1, 0.8, 0.7], True, id="depths-that-differ"),
        pytest.param([1e-3 * value for value in SWINGING], False, id="any-scale-small"),
        pytest.param([1e3 * value for value in SWINGING], True, id="any-scale-large"),
        pytest.param([0.5, 0.75], False, id="too-early"),
        pytest.param([], False, id="no-accuracy"),
        pytest.param([nan] * 5, False, id="nan"),
        pytest.param([0.5, 0.75, nan, 0.75, 0.5], False, id="nan-at-the-minimum"),
        pytest.param([inf] * 5, False, id="inf"),
    ],
)
def test_check(curve: list[float], expected: bool) -> None:
    assert bool(problem.check(history(curve))) is expected


@pytest.mark.parametrize("training", [[], RISING], ids=["alone", "with-a-steady-training-accuracy"])
def test_the_validation_accuracy_may_swing(training: list[float]) -> None:
    assert problem.check(history(training, SWINGING)) is None
    assert problem.check(history(SWINGING, training)) is not None


@pytest.mark.parametrize(
    ("planned", "expected"),
    [
        pytest.param(16, True, id="at-the-limit"),  # 0.3 of 16 is 4.8, and 5 are over
        pytest.param(17, False, id="too-early"),
        pytest.param(None, True, id="no-plan"),
    ],
)
def test_judged_after_a_share_of_the_planned_epochs(planned: int | None, expected: bool) -> None:
    assert bool(problem.check(history(SWINGING, epochs=planned))) is expected


def test_by_hand_with_the_published_thresholds() -> None:
    # Maxima 0.50, 0.56, 0.60 and minima 0.46, 0.55: 0.04 counts, 0.01 does not; 1 of 9.
    curve = [0.40, 0.50, 0.46, 0.56, 0.55, 0.60, 0.59, 0.58, 0.57]
    assert OscillatingAccuracy().check(history(curve)) is None
    assert OscillatingAccuracy().check(history(curve[:5])) is not None  # 1 of 5
    assert OscillatingAccuracy().check(history(curve[:6])) is None  # 1 of 6


def test_the_finding_names_the_epoch_and_the_numbers() -> None:
    finding = problem.check(history(SWINGING, RISING))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("oscillating_accuracy", "warning")
    assert (finding.epoch, finding.layers) == (5, ())
    assert finding.evidence == {"share": 0.2}
    assert finding.message == "accuracy swung by 0.25 or more in 20 % of 5 epochs (limit 20 %)"
