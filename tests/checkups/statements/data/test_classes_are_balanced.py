import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.data.classes_are_balanced import ClassesAreBalanced
from tests.checkups import trainable_models as models

X = models.numbers(64, 8)


def examined(outputs: int, targets: Tensor) -> Result:
    batch = X[: len(targets)], targets
    [result] = checkup(models.perceptron(outputs), batch, tests=ClassesAreBalanced()).results
    return result


def rare(count: int, samples: int = 64) -> Tensor:
    return (torch.arange(samples) < count).long()


@pytest.mark.parametrize(
    ("outputs", "targets"),
    [
        pytest.param(2, rare(3), id="classes"),
        pytest.param(1, rare(3)[:, None].float(), id="yes-or-no"),
        pytest.param(2, rare(61), id="the-other-way-round"),
        pytest.param(2, torch.eye(2)[rare(3)], id="one-hot"),
    ],
)
def test_fails(outputs: int, targets: Tensor) -> None:
    result = examined(outputs, targets)
    assert result.outcome == "failed"
    assert "95% of 64 samples" in result.message
    assert "predicting it every time is 95% accurate" in result.message


@pytest.mark.parametrize(
    ("outputs", "targets"),
    [
        pytest.param(2, rare(8), id="one-in-eight"),
        pytest.param(3, torch.arange(64) % 3, id="even"),
        pytest.param(3, rare(8).where(torch.arange(64) % 4 > 0, -100), id="ignored"),
    ],
)
def test_passes(outputs: int, targets: Tensor) -> None:
    assert examined(outputs, targets).outcome == "passed"


@pytest.mark.parametrize(
    ("outputs", "targets", "why"),
    [
        pytest.param(2, rare(1, 16), "16 samples are too few", id="few"),
        pytest.param(2, rare(0), "only one class", id="one-class"),
        pytest.param(1, torch.randn(64, 1), "do not have one label each", id="numbers"),
        pytest.param(4, torch.zeros(64, 4), "do not have one label each", id="several-labels"),
    ],
)
def test_skips(outputs: int, targets: Tensor, why: str) -> None:
    result = examined(outputs, targets)
    assert result.outcome == "skipped"
    assert why in result.message


def test_ignored_labels_do_not_count() -> None:
    result = examined(2, rare(3).where(torch.arange(64) < 40, -100))
    assert result.outcome == "failed"
    assert "92% of 40 samples" in result.message


def test_skips_a_model_that_does_not_run() -> None:
    [result] = checkup(nn.Linear(3, 2), (X, rare(3)), tests=ClassesAreBalanced()).results
    assert result.outcome == "skipped"
