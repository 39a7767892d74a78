from collections.abc import Callable
from math import nan

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.data.targets_are_sane import TargetsAreSane
from tests.checkups import trainable_models as models

X = models.numbers(32, 8)
LABELS = torch.arange(32) % 3
NUMBERS = models.numbers(32, 1)
CROSS = nn.CrossEntropyLoss()


def examined(model: nn.Module, batch: object, loss: object) -> Result:
    [result] = checkup(model, batch, loss, tests=TargetsAreSane()).results  # type: ignore[arg-type]
    return result


@pytest.mark.parametrize("kind", models.KINDS)
def test_sound_models_have_sane_targets(kind: Callable[[], models.Made]) -> None:
    assert examined(*kind()).outcome == "passed"


@pytest.mark.parametrize(
    ("outputs", "targets", "loss", "message"),
    [
        pytest.param(3, LABELS + 1, CROSS, "from 1 to 3, but classes count", id="from-one"),
        pytest.param(3, LABELS - 1, CROSS, "lowest label is -1", id="negative"),
        pytest.param(
            3, LABELS.where(LABELS > 0, 255), CROSS, "highest label is 255", id="placeholder"
        ),
        pytest.param(3, LABELS.float(), CROSS, "torch.float32", id="floats"),
        pytest.param(3, LABELS * 0 + 2, CROSS, "all 32 targets are 2", id="one-class"),
        pytest.param(1, torch.zeros(32, 1), nn.MSELoss(), "all 32 targets are 0", id="one-number"),
        pytest.param(1, NUMBERS.where(NUMBERS < 1, nan), nn.MSELoss(), "NaN or Inf", id="nan"),
        pytest.param(
            1, LABELS[:, None] % 2 * 2.0 - 1, nn.BCEWithLogitsLoss(), "outside 0 to 1", id="signs"
        ),
        pytest.param(3, torch.ones(32, 3), CROSS, "all 32 targets are 1", id="all-classes"),
        pytest.param(
            3,
            1.0 * (LABELS[:, None] <= torch.arange(3)),
            CROSS,
            "do not sum to one",
            id="multi-hot",
        ),
    ],
)
def test_fails(outputs: int, targets: Tensor, loss: nn.Module, message: str) -> None:
    result = examined(models.perceptron(outputs), (X, targets), loss)
    assert result.outcome == "failed"
    assert message in result.message


def overlap(output: Tensor, targets: Tensor) -> Tensor:
    shares = output.sigmoid().view_as(targets)
    return 1 - 2 * (shares * targets).sum() / (shares.sum() + targets.sum())


MASK = 255.0 * (LABELS[:, None] < 1)


@pytest.mark.parametrize("loss", [overlap, nn.BCEWithLogitsLoss()])
def test_a_mask_read_from_an_image_fails(loss: object) -> None:
    result = examined(models.perceptron(1), (X, MASK), loss)
    assert result.outcome == "failed"
    assert "divide them by 255" in result.message


def masked(output: Tensor, targets: Tensor) -> Tensor:
    known = targets.isfinite()
    return (output[known] - targets[known]).square().mean()


@pytest.mark.parametrize(
    ("outputs", "targets", "loss"),
    [
        pytest.param(3, LABELS.where(LABELS > 0, -100), CROSS, id="ignored"),
        pytest.param(
            3, LABELS.where(LABELS > 0, -1), nn.CrossEntropyLoss(ignore_index=-1), id="own-ignored"
        ),
        pytest.param(3, torch.randn(32, 3).softmax(1), CROSS, id="soft"),
        pytest.param(
            2,
            (LABELS < 1) * 255,
            nn.CrossEntropyLoss(ignore_index=255),
            id="one-class-and-255-ignored",
        ),
        pytest.param(1, MASK / 255, overlap, id="mask"),
        pytest.param(1, MASK.clamp(min=1), overlap, id="other-values"),
        pytest.param(5, LABELS + 1, CROSS, id="first-class-is-missing"),
        pytest.param(1, torch.rand(32, 1), nn.BCEWithLogitsLoss(), id="shares"),
        pytest.param(1, NUMBERS.where(NUMBERS < 1, nan), masked, id="nan-left-out"),
        pytest.param(1, 5 + NUMBERS, None, id="no-loss-given"),
        pytest.param(1, torch.zeros(32), lambda o, _: o.square().mean(), id="not-looked-at"),
        pytest.param(1, torch.ones(32, 1), lambda o, y: F.softplus(-o * y).mean(), id="signs"),
    ],
)
def test_passes(outputs: int, targets: Tensor, loss: object) -> None:
    result = examined(models.perceptron(outputs), (X, targets), loss)
    assert result.outcome == "passed", result.message


def test_a_few_samples_may_all_have_the_same_target() -> None:
    assert examined(models.perceptron(), (X[:8], LABELS[:8] * 0), CROSS).outcome == "passed"


def test_huge_numbers_only_get_a_note() -> None:
    result = examined(models.perceptron(1), (X, 1e6 * NUMBERS), nn.MSELoss())
    assert result.outcome == "passed"
    assert "dividing them by their standard deviation" in result.message


def test_skips_without_targets() -> None:
    assert examined(models.perceptron(), X, None).message == "no targets were given"
