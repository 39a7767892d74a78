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
from tests.checkups.masked_models import PADDED, RIGHT, Masked, Plain, Valid
from tests.checkups.sound_models import Lengths, series


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
PADDING = named()["attention_mask"] == 0
GIVEN = {"x": tokens()[0], "key_padding_mask": PADDING}
KEPT = {"x": tokens()[0], "valid_mask": ~PADDING}
MARKED = {"x": tokens()[0], "mask": PADDING}
TURNED = {"x": tokens()[0], "mask": ~PADDING}
RAGGED = (series()[0], torch.tensor([8, 8, 7, 6, 4, 3]), series()[1])


@pytest.mark.parametrize(
    ("model", "batch", "name"),
    [
        pytest.param(Masked(lambda _: None), GIVEN, "key_padding_mask", id="ignored"),
        pytest.param(Masked(lambda mask: ~mask), GIVEN, "key_padding_mask", id="inverted"),
        pytest.param(Masked(pooled=True), GIVEN, "key_padding_mask", id="pooled-all"),
        pytest.param(
            Masked(lambda mask: mask.roll(1, 0)), GIVEN, "key_padding_mask", id="of-another"
        ),
        pytest.param(Plain(lambda _: None), MARKED, "mask", id="plain-ignored"),
        pytest.param(Valid(lambda _: None), KEPT, "valid_mask", id="valid-ignored"),
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
        pytest.param(Masked(), GIVEN, id="leave"),
        pytest.param(Plain(), MARKED, id="plain"),
        pytest.param(Plain(lambda mask: ~mask), TURNED, id="plain-the-other-way"),
        pytest.param(Valid(), KEPT, id="valid"),
        pytest.param(Plain(), ADDED, id="added-to-scores"),
        pytest.param(Bert(), named(), id="given"),
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


def test_a_mask_that_is_not_given_is_not_made_up() -> None:
    batch = {"input_ids": tokens()[0], "labels": sentences()[1]}
    assert checkup(Deaf(), batch, tests=RespectsMasks()).skipped


class LastToken(nn.Module):
    """Classifies by its last token that is no padding, as GPT-2 does; the mask is for attention."""

    def __init__(self) -> None:
        super().__init__()
        self.gpt = GPT()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        del attention_mask  # attention is causal
        places = torch.arange(input_ids.shape[1])
        last = (places * (input_ids != 0)).argmax(1)
        return self.gpt(input_ids)[torch.arange(len(last)), last]


class HighestToken(nn.Module):
    """Reads the highest token, which ends the text, as CLIP does."""

    def __init__(self, obeys: bool) -> None:
        super().__init__()
        self.inner, self.obeys = Masked(), obeys

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        out = self.inner(input_ids, attention_mask == 0 if self.obeys else None)
        return out[torch.arange(len(out)), input_ids.argmax(1)]


@pytest.mark.parametrize("obeys", [True, False])
def test_no_new_token_ends_the_text(obeys: bool) -> None:
    ids = tokens()[0].clamp(max=TOKENS - 2).index_fill(1, torch.tensor([LENGTH - 1]), TOKENS - 1)
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    [result] = checkup(HighestToken(obeys), batch, tests=RespectsMasks()).results
    assert result.outcome == ("passed" if obeys else "failed")


class Longer(nn.Module):
    """A mask of its own kind for each argument, and more outputs than inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.up = Masked(), nn.ConvTranspose1d(WIDTH, 3, 2, 2)

    def forward(self, x: Tensor, key_padding_mask: Tensor) -> Any:
        return self.up(self.inner(x, key_padding_mask).transpose(1, 2)).transpose(1, 2)


class Convolved(nn.Module):
    """A convolution reads a little across the border of the padding, as in ConvBERT."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.layer = Masked(), nn.Conv1d(WIDTH, WIDTH, 3, padding=1)

    def forward(self, x: Tensor, key_padding_mask: Tensor) -> Any:
        return self.layer(self.inner(x, key_padding_mask).transpose(1, 2)).transpose(1, 2)


class Nested(nn.Module):
    def __init__(self, obeys: bool) -> None:
        super().__init__()
        self.inner, self.obeys = Masked(), obeys

    def forward(self, batch: dict[str, Tensor]) -> Any:
        return self.inner(batch["tokens"], batch["padding_mask"] if self.obeys else None)


class Causal(nn.Module):
    """Sees nothing that comes later, and obeys its mask only if told to."""

    def __init__(self, obeys: bool) -> None:
        super().__init__()
        self.tokens, self.obeys = nn.Embedding(TOKENS, WIDTH), obeys
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        x, length = self.tokens(input_ids), input_ids.shape[1]
        later = torch.ones(length, length, dtype=torch.bool).triu(1).expand(len(x), -1, -1)
        padding = attention_mask.eq(0)[:, None] & ~torch.eye(length, dtype=torch.bool)
        mask = (later | padding if self.obeys else later).repeat_interleave(4, 0)
        return self.attention(x, x, x, attn_mask=mask)[0]


LEFT = RIGHT.flip(1)


@pytest.mark.parametrize(
    ("model", "batch", "outcome"),
    [
        pytest.param(LastToken(), (PADDED, RIGHT.long(), None), "passed", id="token"),
        pytest.param(Longer(), (PADDED, ~RIGHT, None), "skipped", id="more-outputs"),
        pytest.param(Convolved(), (PADDED, ~RIGHT, None), "skipped", id="convolution"),
        pytest.param(Causal(True), (PADDED.flip(1), LEFT, None), "passed", id="left"),
        pytest.param(Causal(False), (PADDED.flip(1), LEFT, None), "failed", id="left-ignored"),
    ],
)
def test_padding_is_as_in_the_batch(model: nn.Module, batch: Any, outcome: str) -> None:
    assert checkup(model, batch, tests=RespectsMasks()).results[0].outcome == outcome


@pytest.mark.parametrize("obeys", [True, False])
def test_a_mask_may_be_in_a_dict(obeys: bool) -> None:
    batch = ({"tokens": PADDED, "padding_mask": ~RIGHT},), None
    [result] = checkup(Nested(obeys), batch, tests=RespectsMasks()).results
    assert result.outcome == ("passed" if obeys else "failed")
