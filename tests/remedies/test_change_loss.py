"""Labels and heads as people write them, and the loss that fits them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from sickbay.recipe import Recipe
from sickbay.remedies import ChangeLoss, Fitted
from sickbay.remedies.fit_loss_to_task import new_loss
from sickbay.vitals import Setup
from tests.remedies.cases import FOUND, X, mlp, pasted, prescribed, recipe

CLASSES = torch.arange(64) % 3


def given(
    model: nn.Module, targets: Tensor, task: str, loss: str = "mse", labels: int = 0
) -> Recipe:
    before = recipe(model, nn.MSELoss(), targets)
    setup = replace(before.setup, task=task, loss=loss, labels=labels)
    return replace(before, setup=setup)


@pytest.mark.parametrize(
    ("width", "targets", "task", "labels", "outputs", "first"),
    [
        pytest.param(3, CLASSES, "multiclass", 3, 3, 0, id="right"),
        pytest.param(3, CLASSES + 1, "multiclass", 3, 3, 1, id="from-one"),
        pytest.param(4, CLASSES + 1, "multiclass", 3, 4, 0, id="from-one-with-an-unused-output"),
        pytest.param(3, CLASSES - 1, "multiclass", 3, 3, -1, id="minus-one-to-one"),
        pytest.param(1, CLASSES + 1.0, "regression", 3, 3, 1, id="one-output-from-one"),
        pytest.param(1, CLASSES[:, None].float(), "regression", 3, 3, 0, id="a-column-of-floats"),
        pytest.param(1, (CLASSES > 0) + 1.0, "regression", 2, 2, 1, id="one-and-two"),
        pytest.param(2, CLASSES, "multiclass", 3, 3, 0, id="too-narrow"),
        pytest.param(2, CLASSES + 1, "multiclass", 3, 4, 0, id="too-narrow-from-one"),
    ],
)
def test_class_numbers(
    width: int, targets: Tensor, task: str, labels: int, outputs: int, first: int
) -> None:
    before = given(mlp(width), targets, task, labels=labels)
    made = prescribed(ChangeLoss(), before)
    assert isinstance(made.loss, Fitted)
    assert made.loss.first == first
    scores = made.model(X)
    assert scores.shape == (64, outputs)
    expected = nn.functional.cross_entropy(scores, targets.flatten().long() - first)
    assert made.loss(scores, targets).item() == pytest.approx(expected.item())
    model, loss = pasted(before, made)
    assert torch.equal(loss(model(X), targets), made.loss(scores, targets))


@pytest.mark.parametrize("low", [-1, 0])
@pytest.mark.parametrize("shape", [(64,), (64, 1)])
def test_two_outputs_for_yes_and_no(low: int, shape: tuple[int, ...]) -> None:
    yes = X[:, 0] > 0
    targets = torch.where(yes, 1.0, float(low)).reshape(shape)
    made = prescribed(ChangeLoss(), given(mlp(2), targets, "binary"))
    scores = made.model(X)
    expected = nn.functional.cross_entropy(scores, yes.long())
    assert made.loss(scores, targets).item() == pytest.approx(expected.item())


@pytest.mark.parametrize("low", [-1.0, 0.0])
def test_one_output_for_yes_and_no(low: float) -> None:
    yes = X[:, 0] > 0
    made = prescribed(ChangeLoss(), given(mlp(1), torch.where(yes, 1.0, low), "binary"))
    scores = made.model(X)
    expected = nn.functional.binary_cross_entropy_with_logits(scores[:, 0], yes.float())
    assert made.loss(scores, torch.where(yes, 1.0, low)).item() == pytest.approx(expected.item())


def test_one_hot_rows() -> None:
    targets = torch.eye(3)[CLASSES]
    made = prescribed(ChangeLoss(), given(mlp(3, nn.Softmax(-1)), targets, "multiclass"))
    scores = made.model(X)
    expected = nn.functional.cross_entropy(scores, CLASSES)
    assert made.loss(scores, targets).item() == pytest.approx(expected.item(), rel=1e-5)
    assert isinstance(made.model.get_submodule("3"), nn.Identity)


def test_several_labels_need_no_softmax() -> None:
    targets = (X[:, :3] > 0).float()
    before = given(mlp(3, nn.Softmax(-1)), targets, "multilabel", "cross_entropy")
    made = prescribed(ChangeLoss(), before)
    scores = made.model(X)
    expected = nn.functional.binary_cross_entropy_with_logits(scores, targets)
    assert made.loss(scores, targets).item() == pytest.approx(expected.item())
    assert isinstance(made.model.get_submodule("3"), nn.Identity)


def test_ignored_labels_stay_ignored() -> None:
    loss = Fitted(nn.CrossEntropyLoss(), "classes", first=1)
    targets = torch.tensor([1, -100, 3])
    assert loss.fit(torch.zeros(3, 3), targets).tolist() == [0, -100, 2]


def test_whole_prices_are_no_classes() -> None:
    prices = 1000.0 * torch.arange(1, 65)
    assert ChangeLoss().prescribe(FOUND, given(mlp(1), prices, "regression", labels=8)) is None


def test_an_unknown_task() -> None:
    before = replace(recipe(mlp(), nn.MSELoss(), X[:, :1]), setup=Setup())
    assert ChangeLoss().prescribe(FOUND, before) is None


@pytest.mark.parametrize(
    ("shape", "loss", "last"),
    [
        pytest.param((8, 6, 12), "", True, id="only-the-last-fits"),
        pytest.param((8, 12, 6), "", False, id="only-the-second-fits"),
        pytest.param((8, 6, 6), "", False, id="both-fit"),
        pytest.param((8, 6, 6), "cross_entropy", True, id="both-fit-and-the-second-is-wrong"),
    ],
)
def test_classes_in_the_last_dimension(shape: tuple[int, ...], loss: str, last: bool) -> None:
    targets = torch.arange(48).reshape(8, 6) % 6
    setup = Setup(task="multiclass", loss=loss, output_shape=shape, target_shape=(8, 6))
    made = new_loss(setup, targets)
    assert made is not None
    outputs = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    moved = outputs.movedim(-1, 1) if last else outputs
    expected = nn.functional.cross_entropy(moved, targets)
    assert made(outputs, targets).item() == pytest.approx(expected.item())
    assert ("last=True" in repr(made)) is last


@pytest.mark.parametrize(("targets", "first"), [([1.0, 2.0], 1), ([0.0, 1.0], 0), ([1.0, 1.0], 0)])
def test_answers_that_are_coded_as_1_and_2(targets: list[float], first: int) -> None:
    known = torch.tensor(targets)
    setup = Setup(
        task="regression", loss="bce_logits", labels=2, output_shape=(2,), target_shape=(2,)
    )
    made = new_loss(setup, known)
    assert made is not None
    assert (made.meaning, made.first) == ("answers", first)
    assert torch.equal(made.fit(torch.zeros(2), known), known - first)


@pytest.mark.parametrize(("columns", "expected"), [(1, True), (2, False)])
def test_a_distance_needs_a_target_for_each_output(columns: int, expected: bool) -> None:
    made = ChangeLoss().prescribe(FOUND, given(mlp(1), X[:, :columns], "regression"))
    assert (made is not None) is expected


def test_answers_whose_yes_is_less_than_1() -> None:
    masks = (X > 0.5).float() / 255
    made = prescribed(ChangeLoss(), given(mlp(4), masks, "regression", "bce_logits"))
    assert isinstance(made.loss, Fitted)
    assert torch.equal(made.loss.fit(X, masks), (X > 0.5).float())
    assert "yes=0.0039" in repr(made.loss)


@pytest.mark.parametrize("targets", [(X > 0.5).float(), X.sigmoid()], ids=["labels", "shares"])
def test_answers_with_a_yes_of_1_stay(targets: Tensor) -> None:
    made = new_loss(Setup(task="multilabel", loss="bce_logits", output_shape=(64, 4)), targets)
    assert made is not None
    assert made.yes == 1
