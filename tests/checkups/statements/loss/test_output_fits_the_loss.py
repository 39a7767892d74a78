from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.loss.output_fits_the_loss import OutputFitsTheLoss
from tests.checkups import trainable_models as models

YES_OR_NO = (torch.arange(32) % 2).float()[:, None]
X = models.numbers(32, 8)


def examined(model: nn.Module, batch: object, loss: object) -> Result:
    torch.manual_seed(0)
    [result] = checkup(model, batch, loss, tests=OutputFitsTheLoss()).results  # type: ignore[arg-type]
    return result


@pytest.mark.parametrize("kind", models.KINDS)
def test_sound_models_fit(kind: Callable[[], models.Made]) -> None:
    assert examined(*kind()).outcome == "passed"


@pytest.mark.parametrize("kind", models.CLASSIFIERS)
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda o: o.softmax(-1), "softmax before cross_entropy, which applies softmax itself"),
        (lambda o: o.log_softmax(-1), "log_softmax before cross_entropy"),
        (torch.sigmoid, "sigmoid before cross_entropy"),
        (torch.tanh, "tanh before cross_entropy, which takes any number"),
        (torch.relu, "relu before cross_entropy"),
        (lambda o: o.clamp(-1e-3, 1e-3), "clamp before cross_entropy"),
    ],
)
def test_cross_entropy_takes_any_number(
    kind: Callable[[], models.Made], function: Callable[[Tensor], Tensor], message: str
) -> None:
    model, batch, loss = kind()
    result = examined(models.Then(model, function), batch, loss)
    assert result.outcome == "failed"
    assert message in result.message


class Between(nn.Linear):
    """Puts out what lies between 0 and 1 by chance."""

    def __init__(self) -> None:
        super().__init__(1, 1)
        nn.init.constant_(self.weight, 1e-3)
        nn.init.constant_(self.bias, 0.5)


@pytest.mark.parametrize(
    ("last", "targets", "loss", "message"),
    [
        pytest.param((), torch.arange(32) % 3, nn.NLLLoss(), "linear", id="nll-of-logits"),
        pytest.param(
            (nn.Softmax(1),), torch.arange(32) % 3, nn.NLLLoss(), "softmax", id="nll-of-softmax"
        ),
        pytest.param((), YES_OR_NO, nn.BCELoss(), "from 0 to 1", id="bce-of-logits"),
        pytest.param((Between(),), YES_OR_NO, nn.BCELoss(), "probabilities", id="bce-by-chance"),
        pytest.param(
            (nn.Sigmoid(),), YES_OR_NO, nn.BCEWithLogitsLoss(), "sigmoid itself", id="sigmoid-twice"
        ),
        pytest.param((nn.Softmax(1),), YES_OR_NO, nn.BCELoss(), "always 1", id="softmax-of-one"),
        pytest.param((nn.ReLU(),), models.numbers(32, 1), nn.MSELoss(), "0 to inf", id="relu-mse"),
        pytest.param((nn.Sigmoid(),), 9 * YES_OR_NO, nn.L1Loss(), "0 to 1", id="sigmoid-l1"),
        pytest.param(
            (nn.Tanh(),), 5 * models.numbers(32, 1), nn.MSELoss(), "-1 to 1", id="tanh-mse"
        ),
    ],
)
def test_fails(last: tuple[nn.Module, ...], targets: Tensor, loss: nn.Module, message: str) -> None:
    model = models.perceptron(1 if targets.ndim > 1 else 3, *last)
    result = examined(model, (X, targets), loss)
    assert result.outcome == "failed"
    assert message in result.message


@pytest.mark.parametrize(
    ("last", "targets", "loss"),
    [
        pytest.param((nn.LogSoftmax(1),), torch.arange(32) % 3, nn.NLLLoss(), id="nll"),
        pytest.param((nn.Sigmoid(),), YES_OR_NO, nn.BCELoss(), id="bce"),
        pytest.param((nn.Sigmoid(),), torch.rand(32, 1), nn.MSELoss(), id="sigmoid-mse"),
        pytest.param((nn.Tanh(),), torch.rand(32, 1), nn.MSELoss(), id="tanh-mse"),
        pytest.param((nn.Hardtanh(-50, 50),), YES_OR_NO, nn.BCEWithLogitsLoss(), id="guard"),
        pytest.param((nn.LeakyReLU(),), YES_OR_NO, nn.BCEWithLogitsLoss(), id="leaky"),
    ],
)
def test_passes(last: tuple[nn.Module, ...], targets: Tensor, loss: nn.Module) -> None:
    model = models.perceptron(1 if targets.ndim > 1 else 3, *last)
    assert examined(model, (X, targets), loss).outcome == "passed"


def test_log_probabilities_made_by_hand_are_fine() -> None:
    model = models.Then(models.perceptron(), lambda o: o - o.logsumexp(1, keepdim=True))
    assert examined(model, (X, torch.arange(32) % 3), F.nll_loss).outcome == "passed"


def test_a_loss_that_wants_positive_numbers_is_no_loss_of_probabilities() -> None:
    def gaussian(output: Tensor, targets: Tensor) -> Tensor:
        if bool((output <= 0).any()):
            raise ValueError("variances must be positive")
        return (targets.square() / output + output.log()).mean()

    assert examined(models.perceptron(1), (X, YES_OR_NO), gaussian).outcome == "skipped"


def test_skips_unclear_cases() -> None:
    model, (x, y), _ = models.mlp()
    assert examined(model, x, None).outcome == "skipped"
    assert examined(model, (x, y), lambda o, _: o.norm()).outcome == "skipped"
    assert examined(nn.Linear(5, 3), (x, y), nn.CrossEntropyLoss()).outcome == "skipped"


def by_hand(output: Tensor, targets: Tensor) -> Tensor:
    return (F.softplus(output) - output * targets).mean()


def focal(output: Tensor, targets: Tensor) -> Tensor:
    right = torch.where(targets > 0, output, -output)
    return ((-right).sigmoid() ** 2 * F.softplus(-right)).mean()


def focal_of_shares(output: Tensor, targets: Tensor) -> Tensor:
    right = torch.where(targets > 0, output, 1 - output).clamp(min=1e-6)
    return -((1 - right) ** 2 * right.log()).mean()


@pytest.mark.parametrize("loss", [by_hand, focal])
def test_a_loss_of_your_own_may_take_logits(loss: object) -> None:
    result = examined(models.perceptron(1, nn.Sigmoid()), (X, YES_OR_NO), loss)
    assert result.outcome == "failed"
    assert "sigmoid before a loss that applies" in result.message
    assert examined(models.perceptron(1), (X, YES_OR_NO), loss).outcome != "failed"


def test_a_loss_of_your_own_may_take_probabilities() -> None:
    model = models.perceptron(1, nn.Sigmoid())
    assert examined(model, (X, YES_OR_NO), focal_of_shares).outcome != "failed"
