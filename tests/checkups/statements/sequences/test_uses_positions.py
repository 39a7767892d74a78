from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import checkup
from sickbay.checkups.statements.sequences.uses_positions import UsesPositions
from tests.checkups.attention_models import (
    GPT,
    WIDTH,
    Attention,
    Classifier,
    ViT,
    encoder,
    sentences,
    tokens,
)
from tests.checkups.sound_models import Pooled, images, series

WITHOUT = tokens()[0], torch.zeros(*tokens()[0].shape, 0)


class Unplaced(Classifier):
    def placed(self, x: Tensor) -> Any:
        return x


class Zeroth(Classifier):
    def placed(self, x: Tensor) -> Any:
        return x + self.places(torch.zeros(x.shape[1], dtype=torch.long))


class Batchwise(Classifier):
    def placed(self, x: Tensor) -> Any:
        return x + self.places(torch.arange(len(x))).unsqueeze(1)


class Late(Classifier):
    """Learns its positions from zero."""

    def __init__(self) -> None:
        super().__init__()
        nn.init.zeros_(self.places.weight)


class Covered(nn.Module):
    """Also takes covariates, of which there are none."""

    def __init__(self) -> None:
        super().__init__()
        self.body = Unplaced()

    def forward(self, x: Tensor, covariates: Tensor) -> Any:
        return self.body(torch.cat([x, covariates.flatten(1).long()], 1))


class Tagger(GPT):
    def __init__(self, placed: bool) -> None:
        super().__init__(lambda: Attention(causal=False))
        self.with_places = placed

    def placed(self, x: Tensor) -> Any:
        return super().placed(x) if self.with_places else x


class Series(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide, self.body, self.head = nn.Linear(5, WIDTH), encoder(True), nn.Linear(WIDTH, 1)

    def forward(self, x: Tensor) -> Any:
        return self.head(self.body(self.wide(x)).mean(1))


class Unfolded(nn.Module):
    """Cuts images into patches without a convolution."""

    def __init__(self, placed: bool) -> None:
        super().__init__()
        self.wide, self.body, self.head = nn.Linear(48, WIDTH), encoder(True), nn.Linear(WIDTH, 1)
        self.places = nn.Parameter(torch.randn(4, WIDTH) * placed, requires_grad=placed)

    def forward(self, x: Tensor) -> Any:
        patches = self.wide(nn.functional.unfold(x, 4, stride=4).transpose(1, 2))
        return self.head(self.body(patches + self.places).mean(1))


class Along(Unplaced):
    """Takes a mask that leaves nothing out."""

    def forward(self, x: Tensor, attention_mask: Any = None) -> Any:
        del attention_mask
        return super().forward(x)


@pytest.mark.parametrize(
    ("model", "batch", "message"),
    [
        pytest.param(Unplaced(), sentences(), "the same outputs", id="none"),
        pytest.param(
            Along(),
            {"x": sentences()[0], "attention_mask": torch.ones_like(sentences()[0])},
            "the same outputs",
            id="with-a-mask",
        ),
        pytest.param(Zeroth(), sentences(), "the same outputs", id="all-the-first"),
        pytest.param(Batchwise(), sentences(), "the same outputs", id="of-the-batch"),
        pytest.param(Covered(), (WITHOUT, sentences()[1]), "the same outputs", id="no-covariates"),
        pytest.param(Tagger(placed=False), tokens()[0], "in that order", id="tagger"),
        pytest.param(Series(), series(), "the same outputs", id="series"),
        pytest.param(ViT(placed=False), images(), "the same outputs", id="patches"),
        pytest.param(Unfolded(placed=False), images()[0], "the same outputs", id="unfolded"),
    ],
)
def test_fails(model: nn.Module, batch: Any, message: str) -> None:
    result = checkup(model, batch, tests=UsesPositions()).results[0]
    assert (result.outcome, result.severity) == ("failed", "warning")
    assert message in result.message


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        pytest.param(Classifier(), sentences(), id="classifier"),
        pytest.param(Late(), sentences(), id="from-zero"),
        pytest.param(Tagger(placed=True), tokens()[0], id="tagger"),
        pytest.param(GPT(), tokens(), id="causal"),
        pytest.param(ViT(), images(), id="patches"),
        pytest.param(Unfolded(placed=True), images()[0], id="unfolded"),
    ],
)
def test_passes(model: nn.Module, batch: Any) -> None:
    assert checkup(model, batch, tests=UsesPositions()).results[0].outcome == "passed"


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        pytest.param(Pooled(), series(), id="recurrent"),
        pytest.param(encoder(True), torch.randn(6, 8, 16), id="a-part"),
    ],
)
def test_skips(model: nn.Module, batch: Any) -> None:
    assert checkup(model, batch, tests=UsesPositions()).results[0].outcome == "skipped"


class WithNothing(Classifier):
    """Takes further inputs for each position, of which a batch may have none."""

    def forward(self, x: Tensor, more: Tensor | float = 0.0) -> Any:
        return super().forward(x) + torch.as_tensor(more).sum()


def test_an_empty_input_is_no_mask() -> None:
    x = sentences()[0]
    batch = (x, torch.zeros(*x.shape, 0)), sentences()[1]
    assert checkup(WithNothing(), batch, tests=UsesPositions()).passed
