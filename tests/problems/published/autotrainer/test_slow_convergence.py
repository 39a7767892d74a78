from collections.abc import Sequence
from dataclasses import replace
from math import nan

import pytest

from sickbay.history import History
from sickbay.problems import SlowConvergence
from sickbay.vitals import Setup, Vitals

SLOW, FAST = [0.25, 0.25, 0.265625], [0.25, 0.5, 0.625]
problem = SlowConvergence(change=0.015625, accuracy=0.75)


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
        pytest.param(SLOW, True, id="at-the-limit-of-the-change"),
        pytest.param([0.25, 0.2656251], False, id="above-the-limit-of-the-change"),
        pytest.param([0.25, 0.5, 0.5, 0.5], False, id="fast-once"),
        pytest.param([0.5, 0.5, 0.1, 0.1], True, id="falling"),
        pytest.param([0.75, 0.75], True, id="at-the-limit-of-the-accuracy"),
        pytest.param([0.7500001, 0.5], False, id="above-the-limit-of-the-accuracy-once"),
        pytest.param([1e-3, 2e-3, 3e-3], True, id="any-scale-small"),
        pytest.param([25.0, 25.0], False, id="any-scale-percent"),
        pytest.param([0.1], False, id="too-early"),
        pytest.param([], False, id="no-accuracy"),
        pytest.param([0.1, nan, 0.1], False, id="nan"),
        pytest.param([nan, nan], False, id="nan-only"),
    ],
)
def test_check(curve: list[float], expected: bool) -> None:
    assert bool(problem.check(history(curve))) is expected
    assert bool(problem.check(history([], curve))) is expected


@pytest.mark.parametrize(
    ("accuracy", "val_accuracy", "training", "both"),
    [
        pytest.param(SLOW, SLOW, True, True, id="both-slow"),
        pytest.param(SLOW, FAST, True, False, id="validation-fast"),
        pytest.param(FAST, SLOW, False, False, id="training-fast"),
        pytest.param([0.8] * 3, SLOW, False, False, id="training-accuracy-high"),
        pytest.param(SLOW, [0.8] * 3, True, False, id="validation-accuracy-high"),
    ],
)
def test_the_training_accuracy_counts_or_both(
    accuracy: list[float], val_accuracy: list[float], training: bool, both: bool
) -> None:
    made = history(accuracy, val_accuracy)
    assert bool(problem.check(made)) is training
    assert bool(replace(problem, validation=True).check(made)) is both


@pytest.mark.parametrize(
    ("planned", "expected"),
    [
        pytest.param(10, True, id="at-the-limit"),
        pytest.param(11, False, id="too-early"),
        pytest.param(None, True, id="no-plan"),
    ],
)
def test_judged_after_a_share_of_the_planned_epochs(planned: int | None, expected: bool) -> None:
    assert bool(problem.check(history(SLOW, epochs=planned))) is expected


def test_a_lucky_batch_is_no_epoch() -> None:
    made = history(SLOW)
    for step, accuracy in enumerate([1.0, 0.0]):
        made.append(Vitals(step=step, epoch=3, scalars={"accuracy": accuracy}))
    assert problem.check(made) is not None


def test_the_finding_names_the_epoch_and_the_numbers() -> None:
    finding = SlowConvergence().check(history([0.5, 0.505], [0.25, 0.25]))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("slow_convergence", "warning")
    assert (finding.epoch, finding.layers) == (2, ())
    assert finding.evidence == pytest.approx({"rise": 0.005, "best": 0.505})
    assert finding.message == (
        "accuracy rose by at most 0.005 per epoch (limit 0.01), best 0.505 (limit 0.7)"
    )
