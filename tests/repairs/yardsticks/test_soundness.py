"""What makes every score meaningless, and what only looks like it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from sickbay.problems.shared.yardsticks import Yardstick
from sickbay.repairs.yardsticks.soundness import sees_ahead, unsound
from tests.repairs.yardsticks.test_measure import measured

ROWS = torch.randn(40, 6, generator=torch.Generator().manual_seed(0))
WORDS = torch.randint(1, 30, (40, 8), generator=torch.Generator().manual_seed(0))
SERIES = ROWS.reshape(40, 3, 2)
CLASSES = ROWS.argmax(1)


class Turned(nn.Module):
    """Takes samples for times, as an LSTM does that wants the times first."""

    def __init__(self, batch_first: bool) -> None:
        super().__init__()
        self.cell, self.out = nn.GRU(2, 4, batch_first=batch_first), nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.out(self.cell(x)[0][:, -1])
        return out


class Letters(nn.Module):
    """Answers at every place, from the places before or also from those after it."""

    def __init__(self, both: bool, flat: bool = False, second: bool = False) -> None:
        super().__init__()
        self.words, self.flat, self.second = nn.Embedding(30, 4), flat, second
        self.cell = nn.GRU(4, 6, batch_first=True, bidirectional=both)
        self.out = nn.Linear(12 if both else 6, 30)

    def forward(self, words: Tensor) -> Tensor:
        outputs: Tensor = self.out(self.cell(self.words(words))[0])
        if self.second:
            return outputs.transpose(1, 2)
        return outputs.flatten(0, 1) if self.flat else outputs


def with_columns(*constant: int) -> Tensor:
    rows = ROWS.clone()
    rows[:, list(constant)] = 0.5
    return rows


def padded() -> Tensor:
    return torch.cat([WORDS[:, :3], torch.zeros_like(WORDS[:, :5])], 1)


DENSE = nn.Linear(6, 6)
TEXT = nn.Sequential(nn.Embedding(30, 4), nn.Flatten(), nn.Linear(32, 2))
ALONE, MIXED = "", "samples of a batch change the outputs of others"
SEEN = "each output sees its target, the next input"


@pytest.mark.parametrize(
    ("model", "x", "y", "expected"),
    [
        pytest.param(DENSE, ROWS, CLASSES, ALONE, id="sound"),
        pytest.param(DENSE, with_columns(3), CLASSES, ALONE, id="one-constant-column"),
        pytest.param(
            DENSE, with_columns(0, 3), CLASSES, "2 of 6 inputs are the same for all samples",
            id="a-third-is-constant",
        ),
        pytest.param(TEXT, padded(), CLASSES, ALONE, id="padded"),
        pytest.param(
            nn.Flatten(), torch.ones(40, 1, 4, 4), CLASSES,
            "all 1 inputs are the same for all samples", id="blank-pictures",
        ),
        pytest.param(nn.Sequential(DENSE, nn.Softmax(0)), ROWS, CLASSES, MIXED, id="over-samples"),
        pytest.param(
            nn.Sequential(DENSE, nn.BatchNorm1d(6)), ROWS, CLASSES, ALONE, id="batch-norm"
        ),
        pytest.param(Turned(False), SERIES, ROWS[:, :1], MIXED, id="time-first"),
        pytest.param(Turned(True), SERIES, ROWS[:, :1], ALONE, id="batch-first"),
        pytest.param(Letters(False), WORDS, WORDS.roll(-1, 1), ALONE, id="next-letter"),
        pytest.param(Letters(True), WORDS, WORDS.roll(-1, 1), SEEN, id="sees-ahead"),
        pytest.param(Letters(True, flat=True), WORDS, WORDS.roll(-1, 1), SEEN, id="sees-flat"),
        pytest.param(Letters(True, second=True), WORDS, WORDS.roll(-1, 1), SEEN, id="seen-second"),
        pytest.param(
            Letters(False), WORDS, WORDS.roll(1, 1), "the targets are the inputs of 1 place before",
            id="shifted-back",
        ),
        pytest.param(
            Letters(False), WORDS, WORDS.roll(3, 1),
            "the targets are the inputs of 3 places before",
            id="shifted-far-back",
        ),
        pytest.param(Letters(False), padded(), padded().flip(1), ALONE, id="mostly-padding"),
    ],
)  # fmt: skip
def test_what_makes_scores_meaningless(
    model: nn.Module, x: Tensor, y: Tensor, expected: str
) -> None:
    with torch.no_grad():
        assert unsound(model, (x,), y) == expected


def test_outputs_for_pairs_may_depend_on_both() -> None:
    class Pairs(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x @ x.T

    assert unsound(Pairs(), (ROWS,), CLASSES) == ""


class Drawn(nn.Module):
    """Draws random numbers, in evaluation mode too."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x)
        return out + torch.randn_like(out)


def test_samples_are_tried_on_a_copy_that_draws_the_same_random_numbers() -> None:
    model = Drawn()
    seen: list[object] = []
    model.register_forward_hook(lambda *given: seen.append(given))
    with torch.no_grad():
        assert unsound(model, (ROWS,), CLASSES) == ""
    assert not seen


def test_as_many_classes_as_samples_tried_are_no_pairs() -> None:
    assert unsound(nn.Sequential(DENSE, nn.Softmax(0)), (ROWS,), CLASSES) == MIXED


def test_no_score_on_unsound_samples_is_a_success() -> None:
    known = Yardstick(constant=0.3, reference=0.9, metric="val_accuracy", samples=500)
    assert known.is_surely_met(0.95)
    assert not Yardstick(**{**vars(known), "unsound": MIXED}).is_surely_met(0.95)


def test_another_model_may_be_sound() -> None:
    mixed = nn.Sequential(DENSE, nn.Softmax(0))
    assert measured(mixed, (ROWS, CLASSES), nn.CrossEntropyLoss()).unsound == MIXED
    assert measured(DENSE, (ROWS, CLASSES), nn.CrossEntropyLoss()).unsound == ""


def test_sight_is_tried_where_samples_differ() -> None:
    padded = torch.randn(20, 12, 3) * (torch.arange(12) < 5)[:, None]
    cells = [nn.GRU(3, 4, batch_first=True, bidirectional=each) for each in (False, True)]
    assert [sees_ahead(each, (padded,)) for each in cells] == [[False], [True]]
