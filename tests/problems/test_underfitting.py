from math import inf, nan
from typing import Any

import pytest

from sickbay.history import History
from sickbay.problems.underfitting import Underfitting
from sickbay.vitals import Setup

KNOWN = {"constant": 0.3, "reference": 0.9, "held_out": 1000}


def ran(scores: list[float], ended: bool = True, name: str = "val_accuracy", **known: Any) -> bool:
    history = History(Setup(**{"epochs": len(scores), **KNOWN, **known}))
    for score in scores:
        history.end_epoch(**{name: score})
    history.ended = ended
    return Underfitting().check(history) is not None


@pytest.mark.parametrize(
    ("scores", "known", "expected"),
    [
        pytest.param([0.5, 0.8], {}, True, id="below-the-reference"),
        pytest.param([0.8, 0.5], {}, True, id="the-best-epoch-counts"),
        pytest.param([0.9, 0.2], {}, False, id="the-best-epoch-was-good"),
        pytest.param([0.5, 0.86], {}, False, id="within-5-points"),
        pytest.param([0.5, 0.8], {"held_out": 40}, False, id="by-chance"),
        pytest.param([0.5, 0.8], {"held_out": 0}, True, id="no-chance-on-training-data"),
        pytest.param([0.5, 0.8], {"reference": None}, False, id="no-reference"),
        pytest.param([0.2, 0.305], {"reference": None}, True, id="at-the-constant-answer"),
        pytest.param([0.32], {"reference": None}, False, id="above-the-constant-answer"),
        pytest.param([0.32], {"reference": None, "held_out": 100}, True, id="above-it-by-chance"),
        pytest.param([0.2, 0.305], {"reference": 0.3}, False, id="nothing-to-learn"),
        pytest.param([0.2], {"constant": None, "reference": None}, False, id="nothing-known"),
        pytest.param([0.5, 0.8], {"constant": None}, True, id="no-constant"),
        pytest.param([nan, 0.8], {}, True, id="nan"),
        pytest.param([nan, nan], {}, True, id="only-nan"),
        pytest.param([1.0, 1.0], {"constant": 1.0, "reference": 1.0}, False, id="one-class"),
    ],
)
def test_check(scores: list[float], known: dict[str, Any], expected: bool) -> None:
    assert ran(scores, **known) is expected


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("loss", "expected"), [(0.99, True), (0.2, True), (0.1, False)])
def test_losses_of_any_scale(scale: float, loss: float, expected: bool) -> None:
    known: dict[str, Any] = {"constant": -scale, "reference": -0.1 * scale}
    assert ran([loss * scale], name="val_loss", **known) is expected


@pytest.mark.parametrize(("score", "expected"), [(-1.0, True), (0.0, True), (0.5, False)])
def test_explained_variance_on_few_samples(score: float, expected: bool) -> None:
    known: dict[str, Any] = {"constant": -0.02, "reference": 0.7, "held_out": 20}
    assert ran([score], name="val_score", **known) is expected


@pytest.mark.parametrize(
    ("score", "falls", "expected"),
    [
        pytest.param(0.8, True, True, id="below-and-falling"),
        pytest.param(0.8, False, False, id="below-and-flat"),
        pytest.param(0.86, True, False, id="near-and-falling"),
        pytest.param(0.95, True, False, id="above-and-falling"),
    ],
)
def test_few_samples_do_not_excuse_a_loss_that_falls_far_below_the_reference(
    score: float, falls: bool, expected: bool
) -> None:
    losses = [2.0 - 0.01 * step if falls else 1.0 for step in range(100)]
    setup = Setup(epochs=1, constant=0.3, reference=0.9, held_out=29)
    history = History(setup, loss=losses)
    history.end_epoch(val_accuracy=score)
    history.ended = True
    found = Underfitting().check(history)
    assert (found is not None) is expected
    if found is not None:
        assert found.message.endswith("a quick reference 0.9; the loss was still falling")


@pytest.mark.parametrize(
    ("epochs", "planned", "ended", "expected"),
    [
        pytest.param(8, 20, False, False, id="too-early"),
        pytest.param(8, 20, True, False, id="cut-off"),
        pytest.param(11, 20, False, True, id="stalled"),
        pytest.param(10, 20, False, False, id="not-stalled-yet"),
        pytest.param(6, 8, False, False, id="a-short-run-is-not-stalled"),
        pytest.param(20, 20, False, False, id="its-end-is-still-to-be-told"),
        pytest.param(20, 20, True, True, id="over"),
        pytest.param(3, None, True, True, id="no-plan"),
        pytest.param(30, None, False, False, id="no-plan-no-end"),
    ],
)
def test_when(epochs: int, planned: int | None, ended: bool, expected: bool) -> None:
    assert ran([0.5] * epochs, ended, epochs=planned) is expected


def test_the_message_and_the_evidence_have_all_numbers() -> None:
    history = History(Setup(epochs=1, constant=-2.0, reference=-0.5))
    history.end_epoch(val_loss=1.9)
    history.ended = True
    found = Underfitting().check(history)
    assert found is not None
    assert found.message == (
        "the best loss is 1.9; the best constant answer gets 2, a quick reference 0.5"
    )
    assert found.evidence == {"best": -1.9, "constant": -2.0, "reference": -0.5}
    assert -inf < found.evidence["best"]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    ("loss", "falls", "expected"),
    [
        pytest.param(0.84, True, True, id="cut-short"),
        pytest.param(0.84, False, False, id="flat"),
        pytest.param(0.81, True, False, id="close-to-the-reference"),
    ],
)
def test_a_run_that_was_cut_short(scale: float, loss: float, falls: bool, expected: bool) -> None:
    losses = [2.0 - 0.01 * step if falls else 1.0 for step in range(100)]
    setup = Setup(epochs=1, constant=-scale, reference=-0.8 * scale, held_out=9000)
    history = History(setup, loss=losses)
    history.end_epoch(val_loss=loss * scale)
    history.ended = True
    assert bool(Underfitting().check(history)) is expected
