"""Which losses weigh classes, so that rare ones count in the score."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

import sickbay
from sickbay.repairs.class_weighting import weighs_classes
from sickbay.repairs.data import Data
from sickbay.repairs.preflight import usual_metric

LABELS = (torch.arange(120) % 3 == 0).float()


def probability(outputs: Tensor, labels: Tensor) -> Tensor:
    p = outputs.clamp(1e-7, 1 - 1e-7)
    return -(labels * p.log() + (1 - labels) * (1 - p).log()).mean()


def focal(outputs: Tensor, labels: Tensor) -> Tensor:
    each = functional.binary_cross_entropy_with_logits(outputs, labels, reduction="none")
    return ((1 - (-each).exp()) ** 2 * each).mean()


def only_yes(outputs: Tensor, labels: Tensor) -> Tensor:
    return -(labels * outputs.sigmoid().log()).mean()


def weighted(weight: float) -> Callable[[Tensor, Tensor], Tensor]:
    def loss(outputs: Tensor, labels: Tensor) -> Tensor:
        each = functional.binary_cross_entropy_with_logits(outputs, labels, reduction="none")
        return (each * labels.where(labels == 0, weight).where(labels == 1, 1.0)).mean()

    return loss


def weighted_shares(outputs: Tensor, labels: Tensor) -> Tensor:
    return functional.binary_cross_entropy(outputs, labels, 1 + 4 * labels)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        pytest.param(functional.binary_cross_entropy_with_logits, False, id="logits"),
        pytest.param(probability, False, id="probabilities"),
        pytest.param(functional.mse_loss, False, id="distance"),
        pytest.param(focal, False, id="focal"),
        pytest.param(only_yes, False, id="one-class-gets-nothing"),
        pytest.param(weighted(5.0), True, id="rare-ones-heavy"),
        pytest.param(weighted(0.2), True, id="upside-down"),
        pytest.param(weighted_shares, True, id="logits-are-refused"),
        pytest.param(weighted(1.2), False, id="almost-even"),
    ],
)
def test_answers_yes_or_no(loss: Callable[[Tensor, Tensor], Tensor], expected: bool) -> None:
    assert weighs_classes(loss, torch.zeros(120), LABELS) is expected


@pytest.mark.parametrize("weights", [[1.0, 1.0, 1.0], [1.0, 1.0, 3.0]])
def test_several_classes(weights: list[float]) -> None:
    def loss(outputs: Tensor, labels: Tensor) -> Tensor:
        return functional.cross_entropy(outputs, labels, torch.tensor(weights))

    uneven = len(set(weights)) > 1
    assert weighs_classes(loss, torch.zeros(120, 3), torch.arange(120) % 3) is uneven


def cumulative(outputs: Tensor, labels: Tensor) -> Tensor:
    shares, hot = outputs.softmax(1), functional.one_hot(labels, outputs.shape[1])
    return (shares.cumsum(1) - hot.cumsum(1)).square().sum(1).mean()


def expected_class(outputs: Tensor, labels: Tensor) -> Tensor:
    numbers = 0.1 + torch.arange(outputs.shape[1])
    return ((outputs.softmax(1) * numbers).sum(1) - labels).square().mean()


def far_ones(outputs: Tensor, labels: Tensor) -> Tensor:
    away = (torch.arange(outputs.shape[1]) - labels[:, None]).abs()
    return functional.cross_entropy(outputs, labels) + (outputs.softmax(1) * away).sum(1).mean()


@pytest.mark.parametrize("loss", [cumulative, expected_class, far_ones])
@pytest.mark.parametrize("classes", [2, 3, 5, 12, 40])
def test_ordered_classes_are_not_weighted(
    loss: Callable[[Tensor, Tensor], Tensor], classes: int
) -> None:
    assert not weighs_classes(loss, torch.zeros(120, classes), torch.arange(120) % classes)


@pytest.mark.parametrize("log_input", [True, False])
@pytest.mark.parametrize("labels", [LABELS, 1 - LABELS])
def test_counts_of_none_and_one_are_not_weighted(log_input: bool, labels: Tensor) -> None:
    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        return functional.poisson_nll_loss(outputs, targets, log_input=log_input)

    assert not weighs_classes(loss, torch.zeros(120), labels)


def smoothed(outputs: Tensor, labels: Tensor) -> Tensor:
    weight = torch.tensor([1.0, 2.0, 6.0])
    return functional.cross_entropy(outputs, labels, weight, label_smoothing=0.1)


def shares(outputs: Tensor, labels: Tensor) -> Tensor:
    return functional.nll_loss(outputs.clamp(min=1e-7).log(), labels, torch.tensor([1.0, 2.0, 6.0]))


def adjusted(outputs: Tensor, labels: Tensor) -> Tensor:
    return functional.cross_entropy(outputs + torch.tensor([0.9, 0.07, 0.03]).log(), labels)


def focal_and_weighted(outputs: Tensor, labels: Tensor) -> Tensor:
    each = functional.cross_entropy(outputs, labels, reduction="none")
    return ((1 - (-each).exp()) ** 2 * each * torch.tensor([1.0, 2.0, 6.0])[labels]).mean()


@pytest.mark.parametrize("loss", [smoothed, shares, adjusted, focal_and_weighted])
def test_weights_are_seen_whatever_else_a_loss_does(
    loss: Callable[[Tensor, Tensor], Tensor],
) -> None:
    assert weighs_classes(loss, torch.zeros(120, 3), torch.arange(120) % 3)


def test_numbers_have_no_classes() -> None:
    assert not weighs_classes(weighted(5.0), torch.zeros(120), torch.rand(120))


@pytest.mark.parametrize("weight", [1.0, 5.0])
def test_a_loss_of_one_s_own_that_weighs_classes_is_scored_by_balanced_accuracy(
    weight: float,
) -> None:
    data = Data.of((torch.rand(120, 2), LABELS[:, None]), batch_size=32)
    metric = usual_metric(torch.nn.Linear(2, 1), weighted(weight), data)
    assert metric == (None if weight == 1 else "balanced_accuracy")


def test_a_model_that_ignores_the_rare_class_is_not_solved() -> None:
    x = torch.randn(600, 2, generator=torch.Generator().manual_seed(0))
    rare = (x[:, :1] > 1.2).float()
    model = torch.nn.Linear(2, 1)
    model.load_state_dict({"weight": torch.zeros(1, 2), "bias": torch.tensor([-3.0])})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    outcome = sickbay.fit(
        model, (x, rare), loss=weighted(0.01), optimizer=optimizer, epochs=5, remedies=[],
        problems=["underfitting"], progress=False,
    )  # fmt: skip
    assert outcome.score == pytest.approx(0.5, abs=0.05)
    assert not outcome.solved
