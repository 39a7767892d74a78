"""A quick reference for a class at each position: a small network that sees what is around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from sickbay.repairs.yardsticks.simple_models import WIDTH, train

REACH = 4  # positions to each side; in images
PIXELS = 3
WORDS, LENGTH = 4096, 16  # different tokens, by their numbers modulo this; numbers for each
VALUES = 8_000_000  # around positions at once
ROWS = 50_000  # positions to learn from
BATCH = 512
MOST_CLASSES = 1000  # to train in a moment


def around(values: Tensor, places: int, ahead: bool) -> Tensor | None:
    """Return a row for each position with what is around it, None if these are no positions.

    Without `ahead`, a position of a sequence is shown what comes before it, and itself.

    >>> around(torch.tensor([[5, 7]]), 2, ahead=False)[0, :, -3:].tolist()
    [[0, 0, 6], [0, 6, 8]]
    """
    if not values.is_floating_point():
        values = values % WORDS + 1  # 0 is what lies outside
    if values.ndim == 2:
        values = values.unsqueeze(2)
    if values.ndim == 4 and values[0, 0].numel() == places and values.is_floating_point():
        size = 2 * PIXELS + 1
        return functional.unfold(values, size, padding=PIXELS).movedim(1, 2)
    if values.ndim != 3 or places not in values.shape[1:]:
        return None
    values = values if values.shape[1] == places else values.movedim(2, 1)
    sides = (REACH, REACH) if ahead else (2 * REACH, 0)
    return functional.pad(values, (0, 0, *sides)).unfold(1, 2 * REACH + 1, 1).flatten(2)


def all_around(inputs: Sequence[Tensor], places: int, ahead: Sequence[bool]) -> list[Tensor]:
    """Return what is around the positions, of each input that has them."""
    found = [
        around(each.detach().cpu(), places, sees) for each, sees in zip(inputs, ahead, strict=True)
    ]
    return [each for each in found if each is not None]


class PerPosition(nn.Module):
    """Gives classes to rows of tokens, then numbers."""

    mean: Tensor
    scale: Tensor

    def __init__(self, tokens: int, numbers: Tensor, classes: int) -> None:
        super().__init__()
        self.tokens, self.words = tokens, nn.Embedding(WORDS + 1, LENGTH)
        self.register_buffer("mean", numbers.mean(0))
        self.register_buffer("scale", numbers.std(0, correction=0).clamp(min=1e-6))
        self.layers = nn.Sequential(
            nn.Linear(tokens * LENGTH + numbers.shape[1], WIDTH), nn.ReLU(),
            nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, classes),
        )  # fmt: skip

    def forward(self, rows: Tensor) -> Tensor:
        words = self.words(rows[:, : self.tokens].long()).flatten(1)
        numbers = (rows[:, self.tokens :] - self.mean) / self.scale
        outputs: Tensor = self.layers(torch.cat([words, numbers.clamp(-10, 10)], 1))
        return outputs


def per_position(
    inputs: Sequence[Tensor], labels: Tensor, classes: int, ahead: Sequence[bool]
) -> Callable[[Sequence[Tensor]], Tensor] | None:
    """Train a small network, None if no input has such positions.

    `labels` has a row for each sample and a label for each position, negative where none is known.
    Random numbers come from outside. Answers are shares of classes, a row for each position.
    """
    places = labels.shape[1]
    if classes > MOST_CLASSES:
        return None
    several = max(2, VALUES // _width(inputs, places, ahead))
    inputs, labels = [each[:several] for each in inputs], labels[:several]
    tokens, rows = _rows(inputs, places, ahead)
    if rows is None:
        return None
    known = (labels.flatten() >= 0).nonzero().flatten()
    known = known[torch.randperm(len(known))[:ROWS]]
    x, y = rows[known], labels.flatten()[known]
    model = PerPosition(tokens, x[:, tokens:], classes)
    train(model, x, y, nn.CrossEntropyLoss(), BATCH)

    def answer(given: Sequence[Tensor]) -> Tensor:
        at_once = max(1, VALUES // _width(given, places, ahead))
        parts = zip(*(torch.split(each, at_once) for each in given), strict=True)
        shares = [model(_rows(part, places, ahead)[1]).softmax(1) for part in parts]
        return torch.cat(shares)

    return answer


def _width(inputs: Sequence[Tensor], places: int, ahead: Sequence[bool]) -> int:
    """Return how many values are around the positions of a sample."""
    found = all_around([each[:1] for each in inputs], places, ahead)
    return max(1, sum(each.numel() for each in found))


def _rows(
    inputs: Sequence[Tensor], places: int, ahead: Sequence[bool]
) -> tuple[int, Tensor | None]:
    """Return rows of tokens, then numbers, with the place at the end; and how many are tokens."""
    found = all_around(inputs, places, ahead)
    if not found:
        return 0, None
    tokens = [each for each in found if not each.is_floating_point()]
    numbers = [each for each in found if each.is_floating_point()]
    place = torch.linspace(-1, 1, places)[:, None].expand(len(found[0]), -1, 1)
    parts = [*tokens, *numbers, place]
    count = sum(each.shape[2] for each in tokens)
    return count, torch.cat([each.float() for each in parts], 2).flatten(0, 1).nan_to_num(0.0)
