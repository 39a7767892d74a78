"""Losses of embeddings hold the classifier, or compare samples with each other."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.loss.overfits_one_batch import OverfitsOneBatch
from tests.checkups import trainable_models as models


def examined(model: nn.Module, batch: object, loss: object) -> Result:
    torch.manual_seed(0)
    test = OverfitsOneBatch(seconds=60)  # never the time decides
    [result] = checkup(model, batch, loss, tests=test).results  # type: ignore[arg-type]
    return result


class Classifier(nn.Module):
    """A loss of embeddings that holds the classifier, which calls each feature another class."""

    def __init__(self, trains: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(-torch.eye(3), requires_grad=trains)

    def forward(self, output: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(output @ self.weight, targets)


@pytest.mark.parametrize(("trains", "outcome"), [(True, "passed"), (False, "failed")])
def test_a_loss_with_weights_of_its_own_has_no_perfect_predictions(
    trains: bool, outcome: str
) -> None:
    torch.manual_seed(0)
    batch = torch.randn(32, 8), torch.arange(32) % 3
    assert examined(models.perceptron(), batch, Classifier(trains)).outcome == outcome


def test_a_penalty_of_the_weights_leaves_the_predictions_perfect() -> None:
    model, batch, loss = models.mlp()
    penalty = next(model.parameters())
    result = examined(model, batch, lambda o, y: penalty.square().mean() - loss(o, y))
    assert "for perfect predictions" in result.message


def contrast(output: Tensor, targets: Tensor) -> Tensor:
    """Pull samples of the same class together, and push others apart, where there are some."""
    same = (targets[:, None] == targets) & ~torch.eye(len(targets), dtype=torch.bool)
    if not same.any():
        return output.sum() * 0
    near = F.normalize(output) @ F.normalize(output).T
    return (near.exp().sum(1, keepdim=True) / near.exp())[same].mean()


def test_a_loss_of_pairs_may_find_none_among_few_samples() -> None:
    batch = torch.randn(32, 8), torch.arange(32) % 4
    result = examined(models.perceptron(4), batch, contrast)
    assert result.outcome == "skipped", result.message
