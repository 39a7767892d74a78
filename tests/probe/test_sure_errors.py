"""Wrong answers of which a model is sure."""

import pytest
import torch
from torch.nn.functional import one_hot

from sickbay.probe.sure_errors import sure_errors


def answers(labels: list[int], classes: int = 5) -> dict[str, float]:
    """Return what is found if a model is sure of the first half, and chooses 0, 1, 2 and so on."""
    outputs = -torch.arange(float(classes)).repeat(len(labels), 1)
    outputs[: len(labels) // 2] *= 2
    return sure_errors(outputs, one_hot(torch.tensor(labels), classes))


@pytest.mark.parametrize(
    ("labels", "share", "distance"),
    [
        pytest.param([1, 1, 0, 0, 0, 0, 0, 0], 0.5, 0.0, id="second-choice"),
        pytest.param([4, 0, 0, 0, 0, 0, 0, 0], 0.25, 1.0, id="last-choice"),
        pytest.param([1, 2, 3, 4, 0, 0, 0, 0], 1.0, 0.5, id="random"),
        pytest.param([0, 0, 0, 0, 4, 4, 4, 4], 0.0, None, id="unsure"),
    ],
)
def test_shares(labels: list[int], share: float, distance: float | None) -> None:
    expected = {"sure_errors": share} | ({} if distance is None else {"sure_distance": distance})
    assert answers(labels) == expected


def test_too_few() -> None:
    assert answers(7 * [1]) == {}
    assert answers(8 * [1], classes=3) == {}
    assert set(answers(8 * [1], classes=4)) == {"sure_errors", "sure_distance"}


def test_mixed_samples_tell_nothing() -> None:
    assert sure_errors(torch.randn(8, 4), torch.full((8, 4), 0.25)) == {}
