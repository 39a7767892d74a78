"""Ignored padding masks and missing positions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import WIDTH, Attention, Encoder
from benchmarks.checkup.case import CaseList, Inputs

cases = CaseList()
MASKS, PLACES = "respects_masks", "uses_positions"
CE = nn.CrossEntropyLoss()


def padded(model: nn.Module, named: bool = True) -> Inputs:
    tokens, mask, labels = data.padded()
    tokens, mask = F.pad(tokens, (0, 2)), F.pad(mask, (0, 2))  # so that every text has padding
    if named:
        return Inputs(model, ({"tokens": tokens, "attention_mask": mask}, labels), CE)
    return Inputs(model, (tokens, mask, labels), CE)


class Heedless(Encoder):
    """Accepts the mask and ignores it."""

    def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Any:
        del attention_mask
        return super().forward(tokens, None)


class Inverted(Attention):
    def hidden(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        assert mask is not None
        return scores.masked_fill(mask[:, None, None, :], -1e4)


class PoolsAll(Encoder):
    def pooled(self, x: Tensor, mask: Tensor | None) -> Tensor:
        del mask
        return x.mean(1)


class OnlyPools(Encoder):
    def through(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        del mask
        return super().through(x, None)


class Reads(nn.Module):
    """Uses the state of a recurrent layer after the padding."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(data.VOCABULARY, WIDTH)
        self.rnn, self.head = nn.GRU(WIDTH, WIDTH, batch_first=True), nn.Linear(WIDTH, 3)

    def forward(self, tokens: Tensor, mask: Tensor) -> Any:
        del mask
        return self.head(self.rnn(self.tokens(tokens))[0][:, -1])


class Opposite(nn.Module):
    """Passes an inverted mask to torch's encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(data.VOCABULARY, WIDTH), nn.Embedding(64, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, tokens: Tensor, mask: Tensor) -> Any:
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        return self.head(self.encoder(x, src_key_padding_mask=mask)[:, 0])


cases.add(MASKS, "encoder, the mask is ignored", lambda: padded(Heedless()))
cases.add(MASKS, "encoder, the mask is inverted", lambda: padded(Encoder(Inverted)))
cases.add(MASKS, "encoder, padding is in the mean", lambda: padded(PoolsAll()))
cases.add(MASKS, "encoder, attention sees padding", lambda: padded(OnlyPools()))
cases.add(MASKS, "rnn, the state after the padding", lambda: padded(Reads(), named=False))
cases.add(MASKS, "torch's encoder, inverted", lambda: padded(Opposite(), named=False))


class Unplaced(Encoder):
    def embedded(self, tokens: Tensor) -> Tensor:
        self.places(torch.arange(tokens.shape[1]))
        embedded: Tensor = self.tokens(tokens)
        return embedded


class FirstPlace(Encoder):
    def embedded(self, tokens: Tensor) -> Tensor:
        embedded: Tensor = self.tokens(tokens) + self.places(torch.zeros_like(tokens))
        return embedded


class SameWave(Encoder):
    """Sine positions that depend on the width only."""

    def embedded(self, tokens: Tensor) -> Tensor:
        wave = torch.arange(WIDTH).sin().expand(tokens.shape[1], WIDTH)
        embedded: Tensor = self.tokens(tokens) + wave
        return embedded


class Series(nn.Module):
    """Torch's attention over a series without positions."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.head = nn.Linear(4, WIDTH), nn.Linear(WIDTH, 3)
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)

    def forward(self, x: Tensor) -> Any:
        x = self.first(x)
        return self.head((x + self.attention(x, x, x)[0]).mean(1))


class Places(nn.Module):
    """Torch's encoder over tokens without positions."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(data.VOCABULARY, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, tokens: Tensor) -> Any:
        return self.head(self.encoder(self.tokens(tokens)).mean(1))


def text(model: nn.Module) -> Inputs:
    return Inputs(model, data.text(), CE)


cases.add(PLACES, "encoder, places are not added", lambda: text(Unplaced()))
cases.add(PLACES, "encoder, always place 0", lambda: text(FirstPlace()))
cases.add(PLACES, "encoder, the same wave everywhere", lambda: text(SameWave()))
cases.add(
    PLACES,
    "series, attention without places",
    lambda: Inputs(Series(), data.series(), CE),
)
cases.add(PLACES, "torch's encoder, no places", lambda: text(Places()))
