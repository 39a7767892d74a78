"""What is padding, and losses that leave it out."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.recipe import Loss, Recipe
from sickbay.remedies import Fitted, IgnorePadding
from sickbay.remedies.padding import padding
from sickbay.remedies.without_padding import WithoutPadding, leaves_out
from tests.remedies.cases import FOUND, prescribed

COUNT, PLACES = 32, 9
INSIDE = torch.arange(PLACES) < (4 + torch.arange(COUNT) % 6)[:, None]
WORDS = torch.randint(1, 6, (COUNT, PLACES), generator=torch.Generator().manual_seed(0)) * INSIDE
LABELS = (7 - WORDS).where(INSIDE, 1)
NUMBERS = torch.where(INSIDE[:, :, None], 1.0 + WORDS[:, :, None], 0.0).expand(-1, -1, 2)


@pytest.mark.parametrize("inputs", [WORDS, NUMBERS])
def test_the_label_of_padding(inputs: Tensor) -> None:
    assert padding((inputs,), LABELS) == 1
    assert padding((torch.zeros(COUNT, 3), inputs), LABELS) == 1


def test_the_input_of_a_decoder_lags() -> None:
    start = torch.full((COUNT, 1), 9)
    assert padding((torch.cat([start, WORDS[:, :-1]], 1),), LABELS) == 1


@pytest.mark.parametrize(
    ("inputs", "labels"),
    [
        pytest.param(WORDS + 1 * INSIDE.logical_not() * torch.arange(9), LABELS, id="other-inputs"),
        pytest.param(WORDS, LABELS.where(INSIDE, WORDS.new_tensor(4)), id="inside-too"),
        pytest.param(WORDS[:, :3], LABELS[:, :3], id="short"),
        pytest.param(WORDS[:7], LABELS[:7], id="few"),
        pytest.param(WORDS, LABELS.float(), id="values"),
        pytest.param(WORDS[::6], LABELS[::6], id="one-length"),
        pytest.param(WORDS, LABELS[:, 0], id="one-label-each"),
    ],
)
def test_no_padding(inputs: Tensor, labels: Tensor) -> None:
    assert padding((inputs,), labels) is None


def made(loss: object) -> Recipe:
    model = nn.Sequential(nn.Embedding(6, 8), nn.Linear(8, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return Recipe(model, loss, optimizer, targets=LABELS, example=(WORDS,))  # type: ignore[arg-type]


def flat(outputs: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(outputs.reshape(-1, 8), labels.flatten())


@pytest.mark.parametrize(
    "loss", [nn.CrossEntropyLoss(), Fitted(nn.CrossEntropyLoss(), "classes", first=1), flat]
)
def test_a_loss_without_padding(loss: object) -> None:
    changed = prescribed(IgnorePadding(), made(loss))
    outputs = torch.randn(COUNT, PLACES, 8)
    given = changed.loss(outputs.movedim(-1, 1) if loss is not flat else outputs, LABELS)
    first = getattr(loss, "first", 0)
    expected = F.cross_entropy(outputs[INSIDE], LABELS[INSIDE] - first)
    assert given.item() == pytest.approx(expected.item())
    assert IgnorePadding().prescribe(FOUND, changed) is None


def picked(outputs: Tensor, labels: Tensor) -> Tensor:
    """Take -100 for the class that is the 100th from the end."""
    shares, labels = outputs.log_softmax(-1).flatten(0, 1), labels.flatten()
    return -shares[torch.arange(len(labels)), labels].mean()


def smoothed(outputs: Tensor, labels: Tensor) -> Tensor:
    """Ignore -100 in one of two terms only."""
    return flat(outputs, labels) - 0.1 * outputs.log_softmax(-1).mean()


def summed(outputs: Tensor, labels: Tensor) -> Tensor:
    each = F.cross_entropy(outputs.movedim(-1, 1), labels, reduction="none")
    return each.sum() / len(labels)


@pytest.mark.parametrize(
    ("loss", "classes", "left_out"),
    [
        pytest.param(picked, 8, False, id="fails"),
        pytest.param(picked, 150, False, id="another-class"),
        pytest.param(smoothed, 8, False, id="only-half-of-it"),
        pytest.param(summed, 8, True, id="another-scale"),
    ],
)
def test_a_loss_of_one_s_own_is_tried_first(loss: Loss, classes: int, left_out: bool) -> None:
    model = nn.Sequential(nn.Embedding(6, 8), nn.Linear(8, classes))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    given = Recipe(model, loss, optimizer, targets=LABELS, example=(WORDS,))
    assert (IgnorePadding().prescribe(FOUND, given) is not None) == left_out


def test_positions_that_are_joined_or_second_are_recognised() -> None:
    wrapped = WithoutPadding(F.cross_entropy, 1)
    joined, second = torch.randn(COUNT * PLACES, 8), torch.randn(COUNT, 8, PLACES)
    assert leaves_out(wrapped, second, LABELS)
    flattened = WithoutPadding(lambda outputs, labels: flat(outputs, labels), 1)
    assert leaves_out(flattened, joined, LABELS)
    assert not leaves_out(flattened, torch.randn(COUNT * PLACES * 2, 4), LABELS)
