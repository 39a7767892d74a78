from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import checkup
from sickbay.checkups.statements.sequences.respects_masks import RespectsMasks
from tests.checkups.attention_models import (
    GPT,
    LENGTH,
    TOKENS,
    WIDTH,
    Bert,
    named,
    sentences,
    tokens,
)
from tests.checkups.sound_models import Lengths, series


class Masked(nn.Module):
    """Attention with a mask, by torch's convention; `change` may spoil it."""

    def __init__(self, change: Any = None, pooled: bool = False) -> None:
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.change, self.pooled = change or (lambda mask: mask), pooled

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None) -> Any:
        x = self.tokens(x)
        mask = None if key_padding_mask is None else self.change(key_padding_mask)
        out = self.attention(x, x, x, key_padding_mask=mask)[0]
        return out.mean(1) if self.pooled else out


class Plain(Masked):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        return super().forward(x, mask)


class Valid(Masked):
    def forward(self, x: Tensor, valid_mask: Tensor | None = None) -> Any:
        return super().forward(x, None if valid_mask is None else ~valid_mask.bool())


class Kept(Bert):
    """Reads its mask the wrong way round."""

    def forward(self, input_ids: Tensor, attention_mask: Any = None, labels: Any = None) -> Any:
        turned = None if attention_mask is None else 1 - attention_mask
        return super().forward(input_ids, turned, labels)


class Deaf(Bert):
    def forward(self, input_ids: Tensor, attention_mask: Any = None, labels: Any = None) -> Any:
        del attention_mask
        return super().forward(input_ids, None, labels)


ADDED = {"x": tokens()[0], "mask": torch.zeros(tokens()[0].shape)}
RAGGED = (series()[0], torch.tensor([8, 8, 7, 6, 4, 3]), series()[1])


@pytest.mark.parametrize(
    ("model", "batch", "name"),
    [
        pytest.param(Masked(lambda _: None), tokens()[0], "key_padding_mask", id="ignored"),
        pytest.param(Masked(lambda mask: ~mask), tokens()[0], "key_padding_mask", id="inverted"),
        pytest.param(Masked(pooled=True), tokens()[0], "key_padding_mask", id="pooled-all"),
        pytest.param(
            Masked(lambda mask: mask.roll(1, 0)), tokens()[0], "key_padding_mask", id="of-another"
        ),
        pytest.param(Plain(lambda _: None), tokens()[0], "mask", id="plain-ignored"),
        pytest.param(Valid(lambda _: None), tokens()[0], "valid_mask", id="valid-ignored"),
        pytest.param(Plain(lambda _: None), ADDED, "mask", id="added-and-ignored"),
        pytest.param(Kept(), named(), "attention_mask", id="one-means-keep"),
        pytest.param(Deaf(), named(), "attention_mask", id="given-and-ignored"),
        pytest.param(Lengths(packed=False), RAGGED, "lengths", id="lengths-ignored"),
    ],
)
def test_fails(model: nn.Module, batch: Any, name: str) -> None:
    result = checkup(model, batch, tests=RespectsMasks()).results[0]
    assert result.outcome == "failed"
    assert f"positions that {name} drops" in result.message


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        pytest.param(Masked(), tokens()[0], id="leave"),
        pytest.param(Plain(), tokens()[0], id="plain"),
        pytest.param(Plain(lambda mask: ~mask), tokens()[0], id="plain-the-other-way"),
        pytest.param(Valid(), tokens()[0], id="valid"),
        pytest.param(Plain(), ADDED, id="added-to-scores"),
        pytest.param(Bert(), named(), id="given"),
        pytest.param(Bert(), {"input_ids": tokens()[0], "labels": sentences()[1]}, id="made-up"),
        pytest.param(Lengths(), RAGGED, id="lengths"),
    ],
)
def test_passes(model: nn.Module, batch: Any) -> None:
    assert checkup(model, batch, tests=RespectsMasks()).results[0].outcome == "passed"


def test_skips_a_model_without_masks() -> None:
    assert checkup(GPT(), tokens(), tests=RespectsMasks()).skipped


def test_a_causal_mask_does_not_count_as_padding() -> None:
    class Causal(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(TOKENS, WIDTH)
            self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)

        def forward(self, x: Tensor, mask: Tensor) -> Any:
            x = self.tokens(x)
            return self.attention(x, x, x, attn_mask=mask)[0]

    mask = torch.ones(LENGTH, LENGTH).triu(1).bool()
    batch = {"x": tokens()[0], "mask": mask}
    assert checkup(Causal(), batch, tests=RespectsMasks()).skipped
