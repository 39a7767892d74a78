from collections.abc import Sequence
from typing import Any

import pytest

from sickbay.history import History
from sickbay.problems import ImproperLoss
from sickbay.problems.shared.loss_against_score import disagreement
from sickbay.vitals import Setup

STEPS = 500
CROSS_ENTROPY: dict[str, Any] = {"task": "multiclass", "loss": "cross_entropy", "bare": True}


def trained(losses: Sequence[float], score: float, constant: float = 0.1, **setup: Any) -> History:
    """Return a history of `STEPS` steps in as many epochs as there are losses."""
    history = History(Setup(**setup))
    each = STEPS // len(losses)
    for epoch, loss in enumerate(losses):
        steps = list(range(epoch * each, (epoch + 1) * each))
        values = {"loss": loss, "score": score, "constant_score": constant}
        history.extend(
            steps[-1], epoch, {name: (steps, each * [value]) for name, value in values.items()}
        )
        history.end_epoch()
    return history


def falling(start: float, factor: float, count: int = 9) -> list[float]:
    return [start * factor**epoch for epoch in range(count)]


@pytest.mark.parametrize(
    ("losses", "score", "setup", "expected"),
    [
        pytest.param(falling(2.3, 0.7), 0.1, CROSS_ENTROPY, True, id="falls-alone"),
        pytest.param(falling(2.3, 0.7), 0.5, CROSS_ENTROPY, False, id="learns"),
        pytest.param(falling(90, 0.8), 0.1, {**CROSS_ENTROPY, "summed": True}, False, id="summed"),
        pytest.param([30.0, *8 * [2.3]], 0.1, CROSS_ENTROPY, False, id="to-that-of-a-constant"),
        pytest.param(
            falling(2.3, 0.7), 0.1, {**CROSS_ENTROPY, "bare": False}, True, id="with-other-terms"
        ),
        pytest.param(falling(2.3, 0.7), 0.1, {"task": "regression"}, False, id="no-classes"),
        pytest.param(falling(2.3, 0.6), 0.1, {"task": "multiclass"}, True, id="a-loss-by-hand"),
        pytest.param(falling(2.3, 0.9), 0.1, {"task": "multiclass"}, False, id="by-hand-not-far"),
        pytest.param(9 * [2.3], 0.1, CROSS_ENTROPY, False, id="flat"),
    ],
)
def test_a_loss_that_falls_alone(
    losses: list[float], score: float, setup: dict[str, Any], expected: bool
) -> None:
    assert bool(disagreement(trained(losses, score, **setup))) is expected


def test_a_class_that_is_nearly_always_right_leaves_room() -> None:
    history = trained(falling(0.3, 0.7), 0.95, 0.95, **CROSS_ENTROPY)
    assert not disagreement(history)


def test_it_waits_until_the_model_could_have_learnt() -> None:
    history = trained(falling(2.3, 0.7), 0.1, **CROSS_ENTROPY, epochs=100)
    assert not disagreement(history)
    history.ended = True
    assert disagreement(history)


@pytest.mark.parametrize(
    ("losses", "accuracies", "expected"),
    [
        pytest.param([1, 2, 3, 4, 5, 6], [0.1, 0.2, 0.4, 0.5, 0.7, 0.8], True, id="both-rise"),
        pytest.param([6, 5, 4, 3, 2, 1], [0.1, 0.2, 0.4, 0.5, 0.7, 0.8], False, id="learns"),
        pytest.param([1, 2, 3, 4, 5, 6], [0.8, 0.7, 0.5, 0.4, 0.2, 0.1], False, id="diverges"),
        pytest.param([1, 1, 1.1, 1.1, 1.2, 1.2], 6 * [0.5], False, id="hardly"),
        pytest.param([1, 9, 1, 9, 1, 9], [0.1, 0.2, 0.4, 0.5, 0.7, 0.8], False, id="up-and-down"),
        pytest.param([1, 2, 3], [0.1, 0.4, 0.8], False, id="too-early"),
        pytest.param(
            [1, 2, 3, 4, 5, float("nan")], [0.1, 0.2, 0.4, 0.5, 0.7, 0.8], False, id="nan"
        ),
    ],
)
def test_a_loss_that_rises_with_the_accuracy(
    losses: list[float], accuracies: list[float], expected: bool
) -> None:
    history = History()
    for step, (loss, accuracy) in enumerate(zip(losses, accuracies, strict=True)):
        history.extend(step, step, {"loss": ([step], [loss])})
        history.end_epoch(val_accuracy=accuracy)
    assert bool(disagreement(history)) is expected
    finding = ImproperLoss().check(history)
    assert (finding is not None and finding.severity == "warning") is expected
