from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.loss.output_fits_the_targets import OutputFitsTheTargets
from tests.checkups import trainable_models as models

X = models.numbers(32, 8)
LABELS = torch.arange(32) % 3
NUMBERS = models.numbers(32, 1)


def examined(model: nn.Module, batch: object, loss: object) -> Result:
    torch.manual_seed(0)
    [result] = checkup(model, batch, loss, tests=OutputFitsTheTargets()).results  # type: ignore[arg-type]
    return result


@pytest.mark.parametrize("kind", models.KINDS)
def test_sound_models_fit(kind: Callable[[], models.Made]) -> None:
    assert examined(*kind()).outcome == "passed"


@pytest.mark.parametrize(
    ("outputs", "targets", "loss", "message"),
    [
        pytest.param(1, NUMBERS[:, 0], nn.MSELoss(), "broadcasts", id="N1-N"),
        pytest.param(
            1, NUMBERS[:, 0], lambda o, y: (o - y).abs().mean(), "broadcasts", id="by-hand"
        ),
        pytest.param(4, NUMBERS, nn.MSELoss(), "broadcasts", id="N4-N1"),
        pytest.param(1, X, nn.MSELoss(), "broadcasts", id="N1-N8"),
        pytest.param(1, 0 * LABELS, nn.CrossEntropyLoss(), "always 0", id="one-output"),
        pytest.param(
            2,
            LABELS,
            nn.CrossEntropyLoss(),
            "highest label is 2, but there are only 2",
            id="narrow",
        ),
        pytest.param(
            3, LABELS[:, None], nn.CrossEntropyLoss(), "without their last", id="labels-N1"
        ),
        pytest.param(
            3, LABELS.float(), nn.BCEWithLogitsLoss(), "for every output", id="labels-bce"
        ),
    ],
)
def test_fails(outputs: int, targets: Tensor, loss: object, message: str) -> None:
    result = examined(models.perceptron(outputs), (X, targets), loss)
    assert result.outcome == "failed"
    assert message in result.message


def test_a_label_beyond_the_outputs_is_found_in_samples_that_are_not_run() -> None:
    targets = LABELS.clone()
    targets[-2:] = torch.tensor([3, 4])
    result = examined(models.perceptron(), (X, targets), nn.CrossEntropyLoss())
    assert result.outcome == "failed"
    assert result.evidence == {"width": 3, "largest": 4}


@pytest.mark.parametrize(
    "targets",
    [
        pytest.param(LABELS.where(LABELS < 2, 7), id="a-gap"),
        pytest.param(LABELS + 1, id="from-one"),
        pytest.param(LABELS.where(LABELS < 2, -1).where(X[:, 0] > -1, 3), id="negative"),
    ],
)
def test_wrong_labels_are_left_to_another_test(targets: Tensor) -> None:
    result = examined(models.perceptron(), (X, targets), nn.CrossEntropyLoss())
    assert (result.outcome, result.message) == (
        "skipped",
        "the labels are wrong, see targets_are_sane",
    )


def test_classes_in_the_last_dimension_are_named() -> None:
    model, batch, _ = models.gpt()
    result = examined(model, batch, nn.CrossEntropyLoss())
    assert result.outcome == "failed"
    assert "classes in the second dimension" in result.message


@pytest.mark.parametrize(
    ("outputs", "targets", "loss"),
    [
        pytest.param(1, NUMBERS[:, 0], lambda o, y: F.mse_loss(o.squeeze(1), y), id="squeezed"),
        pytest.param(1, NUMBERS[:, 0], None, id="no-loss-given"),
        pytest.param(64, LABELS, nn.CrossEntropyLoss(), id="padded-vocabulary"),
        pytest.param(3, LABELS.where(LABELS < 2, -100), nn.CrossEntropyLoss(), id="left-out"),
        pytest.param(
            3, LABELS.where(LABELS < 2, 255), nn.CrossEntropyLoss(ignore_index=255), id="ignored"
        ),
        pytest.param(8, 5 * LABELS, lambda o, y: (o.norm(dim=1) * y).mean(), id="identities"),
        pytest.param(5, NUMBERS, lambda o, y: F.relu(y - o).mean(), id="quantiles"),
    ],
)
def test_passes(outputs: int, targets: Tensor, loss: object) -> None:
    result = examined(models.perceptron(outputs), (X, targets), loss)
    assert result.outcome == "passed", result.message


def test_skips_without_targets_or_if_the_model_does_not_run() -> None:
    assert examined(models.perceptron(), X, None).outcome == "skipped"
    assert examined(nn.Linear(3, 3), (X, LABELS), nn.CrossEntropyLoss()).outcome == "skipped"


def test_a_head_of_zeros_does_not_hide_that_shapes_are_broadcast() -> None:
    model = models.perceptron(1)
    for each in model[-1].parameters():
        nn.init.zeros_(each)
    result = examined(model, (X, NUMBERS[:, 0]), nn.MSELoss())
    assert result.outcome == "failed"
    assert "broadcasts" in result.message
    assert examined(model, (X, NUMBERS), nn.MSELoss()).outcome == "passed"


def test_a_warning_of_torch_about_sizes_counts() -> None:
    def of_the_mean(output: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(output.mean(1), targets)

    model = nn.Sequential(nn.Linear(4, 6), nn.Unflatten(1, (6, 1)))
    inputs, targets = torch.rand(8, 4), torch.rand(8)
    for given, outcome in ((targets, "failed"), (targets[:, None], "passed")):
        [result] = checkup(
            model, (inputs, given), of_the_mean, tests="output_fits_the_targets"
        ).results
        assert result.outcome == outcome
