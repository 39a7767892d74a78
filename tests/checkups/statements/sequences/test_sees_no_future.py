import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.checkups import checkup
from sickbay.checkups.statements.sequences.sees_no_future import SeesNoFuture
from tests.checkups.attention_models import (
    GPT,
    TOKENS,
    WIDTH,
    Attention,
    Block,
    Classifier,
    FlashAttention,
    Flattened,
    Seq2Seq,
    sentences,
    tokens,
)
from tests.checkups.sound_models import TokenRecurrent, Wavenet


def masked(mask: Tensor) -> Callable[[], nn.Module]:
    class Other(Attention):
        def masked(self, scores: Tensor) -> Tensor:
            length = scores.shape[-1]
            return scores.masked_fill(~mask[:length, :length].bool(), -math.inf)

    return Other


def once() -> nn.Module:
    """One layer of two has forgotten its mask."""
    model = GPT()
    model.blocks = nn.Sequential(Block(Attention()), Block(Attention(causal=False)))
    return model


class Standardised(TokenRecurrent):
    def forward(self, x: Tensor) -> Any:
        x = self.tokens(x)
        return self.head(self.rnn(x - x.mean(1, keepdim=True))[0])


class Both(TokenRecurrent):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(WIDTH, WIDTH // 2, batch_first=True, bidirectional=True)


class Padded(nn.Module):
    """A convolution over series, with its places in the second or the third dimension."""

    def __init__(self, left: int, right: int, turned: bool) -> None:
        super().__init__()
        self.layer, self.pad, self.turned = nn.Conv1d(5, 5, 3), (left, right), turned

    def forward(self, x: Tensor) -> Any:
        x = x.transpose(1, 2) if self.turned else x
        x = self.layer(F.pad(x, self.pad))
        return x.transpose(1, 2) if self.turned else x


@pytest.mark.parametrize("time", [1, 2])
def test_series_of_a_convolution(time: int) -> None:
    values = torch.randn(6, 5, 9) if time == 2 else torch.randn(6, 9, 5)
    batch = values.narrow(time, 0, 8), values.narrow(time, 1, 8)
    assert checkup(Padded(1, 1, time == 1), batch, tests=SeesNoFuture()).failed
    assert checkup(Padded(2, 0, time == 1), batch, tests=SeesNoFuture()).passed


ONES = torch.ones(32, 32)
SLIPPED = GPT(masked(ONES.tril(1)))


@pytest.mark.parametrize(
    ("model", "changed"),
    [
        pytest.param(GPT(lambda: Attention(causal=False)), 4, id="no-mask"),
        pytest.param(SLIPPED, 2, id="off-by-one"),
        pytest.param(GPT(masked(ONES.triu())), 4, id="transposed"),
        pytest.param(once(), 4, id="one-layer"),
        pytest.param(Wavenet(padding=1), 1, id="padded-on-both-sides"),
        pytest.param(Standardised(), 4, id="mean-over-time"),
        pytest.param(Both(), 4, id="bidirectional"),
    ],
)
def test_fails(model: nn.Module, changed: int) -> None:
    result = checkup(model, tokens(), tests=SeesNoFuture()).results[0]
    assert result.outcome == "failed"
    assert result.evidence["changed"] == changed


def test_a_leak_fails_without_targets() -> None:
    assert checkup(SLIPPED, tokens()[0], tests=SeesNoFuture()).failed


def test_a_target_that_is_its_own_input_fails() -> None:
    batch = (tokens()[0],) * 2
    result = checkup(GPT(), batch, tests=SeesNoFuture()).results[0]
    assert result.outcome == "failed"
    assert "its own input" in result.message


def shifted(output: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(output[:, :-1].flatten(0, 1), targets[:, 1:].flatten())


def test_a_loss_that_shifts_the_targets_is_sound_but_asks_for_a_mask() -> None:
    batch = (tokens()[0],) * 2
    assert checkup(GPT(), batch, shifted, tests=SeesNoFuture()).passed
    open_model = GPT(lambda: Attention(causal=False))
    assert checkup(open_model, batch, shifted, tests=SeesNoFuture()).failed


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        pytest.param(GPT(), tokens(), id="gpt"),
        pytest.param(GPT(), tokens()[0], id="gpt-without-targets"),
        pytest.param(GPT(FlashAttention), tokens(), id="of-torch"),
        pytest.param(TokenRecurrent(), tokens(), id="recurrent"),
        pytest.param(Wavenet(), tokens(), id="convolution"),
        pytest.param(Seq2Seq(), (torch.randint(TOKENS, (6, 8)), *tokens()), id="decoder"),
    ],
)
def test_passes(model: nn.Module, batch: Any) -> None:
    assert checkup(model, batch, tests=SeesNoFuture()).results[0].outcome == "passed"


def test_flattened_outputs_are_seen_through() -> None:
    def loss(output: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(output, targets.flatten())

    assert checkup(Flattened(), tokens(), loss, tests=SeesNoFuture()).passed
    sick = Flattened(lambda: Attention(causal=False))
    assert checkup(sick, tokens(), loss, tests=SeesNoFuture()).failed


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        pytest.param(Classifier(), sentences(), id="pooled"),
        pytest.param(GPT(lambda: Attention(causal=False)), tokens()[0], id="looks-both-ways"),
        pytest.param(Wavenet(padding=1), tokens()[0], id="local"),
        pytest.param(Both(), (tokens()[0], torch.randint(TOKENS, (6, 8))), id="tagger"),
    ],
)
def test_skips(model: nn.Module, batch: Any) -> None:
    assert checkup(model, batch, tests=SeesNoFuture()).results[0].outcome == "skipped"


def test_the_task_next_token_needs_no_targets() -> None:
    def judged(causal: bool) -> str:
        model = GPT(lambda: Attention(causal=causal))
        inputs, _ = tokens()
        return checkup(model, inputs, task="next_token", tests=SeesNoFuture()).results[0].outcome

    assert (judged(causal=True), judged(causal=False)) == ("passed", "failed")


class TimeFirst(nn.Module):
    """A language model whose tokens come as (time, samples), as in torch's word model."""

    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(TOKENS, WIDTH), nn.Embedding(32, 1)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 32)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head, self.causal = nn.Linear(WIDTH, TOKENS), causal

    def forward(self, x: Tensor) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(len(x)) if self.causal else None
        places = self.places(torch.arange(len(x)))[:, None]
        return self.head(self.encoder(self.tokens(x) + places, mask))


def in_rows(output: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(output.flatten(0, 1), targets.flatten())


TEXT = torch.randint(TOKENS, (13, 7))


@pytest.mark.parametrize(
    "batch",
    [
        pytest.param((TEXT[:-1], TEXT[1:]), id="shifted"),
        pytest.param((TEXT[:-1], TEXT[1:].flatten()), id="shifted-in-a-row"),
        pytest.param((TEXT[:7], TEXT[1:8]), id="as-many-positions-as-samples"),
        pytest.param(TEXT, id="without-targets"),
    ],
)
def test_time_may_come_first(batch: Any) -> None:
    def judged(causal: bool) -> str:
        model = TimeFirst(causal)
        return checkup(model, batch, in_rows, tests=SeesNoFuture()).results[0].outcome

    looks_both_ways = "failed" if isinstance(batch, tuple) else "skipped"
    assert (judged(causal=True), judged(causal=False)) == ("passed", looks_both_ways)
