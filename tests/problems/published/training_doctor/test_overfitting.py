from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems.published.training_doctor import Overfitting
from sickbay.vitals import Vitals

problem = Overfitting(gap=0.25, severe=0.5)


@pytest.mark.parametrize(
    ("loss", "val_loss", "expected"),
    [
        pytest.param(1.0, 1.25, None, id="at-the-limit"),
        pytest.param(1.0, 1.251, "warning", id="above-the-limit"),
        pytest.param(1.0, 1.5, "warning", id="at-the-severe-limit"),
        pytest.param(1.0, 1.501, "critical", id="above-the-severe-limit"),
        pytest.param(1.5, 1.0, None, id="validation-better"),
        pytest.param(1.0, 1.0, None, id="no-gap"),
        pytest.param(1e-3, 2e-3, None, id="any-scale-small"),
        pytest.param(1000.0, 1001.0, "critical", id="any-scale-large"),
        pytest.param(nan, 1.0, None, id="nan-in-training"),
        pytest.param(1.0, nan, None, id="nan-in-validation"),
        pytest.param(1.0, inf, "critical", id="inf"),
        pytest.param(inf, inf, None, id="inf-in-both"),
    ],
)
def test_check(loss: float, val_loss: float, expected: str | None) -> None:
    made = History()
    made.end_epoch(loss=loss, val_loss=val_loss)
    finding = problem.check(made)
    assert (finding and finding.severity) == expected


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        pytest.param({"loss": 0.1}, False, id="no-validation"),
        pytest.param({"val_loss": 9.0}, False, id="no-training"),
        pytest.param({"loss": 0.1, "val_loss": 9.0}, True, id="both"),
    ],
)
def test_both_losses_are_needed(losses: dict[str, float], expected: bool) -> None:
    made = History()
    assert problem.check(made) is None  # too early
    made.end_epoch(**losses)
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        pytest.param([2.0, 1.6, 1.2, 0.8, 0.3], True, id="below-their-mean"),
        pytest.param([0.2, 0.4, 0.9], False, id="above-their-mean"),
    ],
)
def test_the_newest_step_counts(losses: list[float], expected: bool) -> None:
    made = History(loss=losses)
    made.end_epoch(val_loss=1.0)
    assert bool(problem.check(made)) is expected


def test_a_training_loss_measured_with_the_validation_loss_counts_more() -> None:
    made = History(loss=[0.1])
    made.end_epoch(loss=0.9, val_loss=1.0)
    assert problem.check(made) is None


def test_only_the_newest_epoch_counts() -> None:
    made = History(loss=[0.2])
    made.end_epoch(val_loss=0.7)
    assert problem.check(made) is not None
    made.end_epoch(loss=0.4, val_loss=0.5)
    assert problem.check(made) is None
    made.append(Vitals(step=1, scalars={"loss": 0.1}))
    made.end_epoch(val_loss=0.5)
    assert problem.check(made) is not None


def test_the_published_thresholds() -> None:
    for val_loss, expected in [(0.25, "warning"), (0.45, "warning"), (0.55, "critical")]:
        made = History()
        made.end_epoch(loss=0.0, val_loss=val_loss)
        finding = Overfitting().check(made)
        assert finding is not None
        assert finding.severity == expected


@pytest.mark.parametrize(
    ("val_loss", "message"),
    [
        pytest.param(
            1.5, "validation loss 1.5, training loss 1, gap 0.5 (limit 0.25)", id="moderate"
        ),
        pytest.param(
            1.75, "validation loss 1.75, training loss 1, gap 0.75 (limit 0.5)", id="severe"
        ),
    ],
)
def test_the_finding_names_the_epoch_and_the_numbers(val_loss: float, message: str) -> None:
    made = History()
    made.end_epoch(loss=1.0, val_loss=val_loss)
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.epoch, finding.layers) == ("overfitting", 1, ())
    assert finding.message == message
    assert finding.evidence == {"gap": val_loss - 1.0}
