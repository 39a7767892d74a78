"""What quick references reach at each position of a sequence or an image."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay.repairs.yardsticks import references
from tests.repairs.yardsticks.test_measure import (
    CE,
    CLASSES,
    COUNT,
    LOGITS,
    WORDS,
    X,
    drawn,
    measured,
)


class Language(nn.Module):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.words, self.how = nn.Embedding(50, 50), how

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.words(x)
        return {"joined": out.reshape(-1, 50), "second": out.movedim(-1, 1), "last": out}[self.how]


def joined(outputs: Tensor, targets: Tensor) -> Tensor:
    return nn.functional.cross_entropy(outputs.reshape(-1, 50), targets.flatten())


@pytest.mark.parametrize(("how", "loss"), [("joined", joined), ("second", CE), ("last", joined)])
def test_the_next_token_has_bigrams(how: str, loss: Any) -> None:
    found = measured(Language(how), (WORDS, (WORDS * 3 + 1) % 50), loss)
    assert found.reference == 1.0
    assert found.constant is not None
    assert found.constant < 0.3


class Pixels(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(1, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x)
        return out


def test_classes_of_pixels_are_told_from_what_is_around() -> None:
    x = drawn(COUNT, 1, 5, 5)
    found = measured(Pixels(), (x, (x[:, 0] > 1).long()), CE)
    assert found.reference is not None
    assert found.reference > 0.95
    assert found.constant == pytest.approx(0.84, abs=0.05)


def test_masks_of_large_images_too() -> None:
    x = drawn(60, 1, 20, 20)
    found = measured(nn.Conv2d(1, 1, 1), (x, (x > 1).float()), LOGITS)
    assert found.reference is not None
    assert found.reference > 0.95


class Causal(nn.Module):
    """Sees the tokens before each place; with `ahead`, also those after it."""

    def __init__(self, ahead: bool) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 8)
        self.cell = nn.GRU(8, 8, batch_first=True, bidirectional=ahead)
        self.out = nn.Linear(16 if ahead else 8, 50)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.out(self.cell(self.words(x))[0]).movedim(-1, 1)
        return out


@pytest.mark.parametrize("ahead", [False, True])
def test_a_window_shows_what_comes_after_only_if_the_model_sees_it(ahead: bool) -> None:
    many = (drawn(900, 12) * 20).long().abs() % 5
    found = measured(Causal(ahead), (many, many.roll(-2, 1)), CE)
    assert found.reference is not None
    assert (found.reference > 0.8) is ahead


def test_a_window_shows_what_comes_before() -> None:
    many = (drawn(900, 12) * 20).long().abs() % 5
    found = measured(Causal(False), (many, many.roll(1, 1)), CE)
    assert found.reference is not None
    assert found.reference > 0.8


class Two(Pixels):
    def forward(self, x: Tensor) -> Any:
        return super().forward(x[:, None, :, None])[..., 0], 1


def test_outputs_that_are_no_tensor_have_none() -> None:
    said: list[str] = []
    found = measured(Two(), (X, CLASSES), lambda out, _: out[0].mean(), said)
    assert not found.known
    assert said == ["no constant answer: the outputs are not one tensor"]


def test_a_few_positions_are_enough_to_choose_by(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def positions(*_: Any) -> Any:
        def answer(tokens: Any) -> Tensor:
            asked.append(tokens[0].numel())
            return torch.ones(tokens[0].numel(), 50)

        return answer

    monkeypatch.setattr(references, "per_position", positions)
    many = (drawn(900, 60) * 20).long().abs() % 50
    found = measured(Causal(False), (many, (many * 3 + 1) % 50), CE)
    assert found.reference == 1.0  # that of bigrams
    assert len(asked) == 1
    assert 1000 < asked[0] <= 4000
