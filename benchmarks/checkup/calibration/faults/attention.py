"""Faults of attention: wrong weights, and queries that see the future."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import WIDTH, Attention, Decoder, Encoder, Patches
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
ROWS, FUTURE = "attention_rows_sum_to_one", "sees_no_future"
CE = nn.CrossEntropyLoss()


def language(model: nn.Module) -> Inputs:
    return Inputs(model, data.language(), data.next_token)


class OverQueries(Attention):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return self.hidden(scores, mask).softmax(-2)


class OverHeads(Attention):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        del mask
        return F.softmax(scores, dim=1)


class MaskedLate(Attention):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        del mask
        return scores.softmax(-1).masked_fill(self.future(scores.shape[-1]), 0.0)


class Unweighted(Attention):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        del mask
        return scores / scores.shape[-1]


class Gates(Attention):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return self.hidden(scores, mask).sigmoid()


class Scaled(Attention):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return 2 * super().weights(scores, mask)


cases.add(ROWS, "encoder, softmax over the queries", lambda: text(Encoder(OverQueries)))
cases.add(ROWS, "encoder, softmax over the heads", lambda: text(Encoder(OverHeads)))
cases.add(ROWS, "decoder, masked after the softmax", lambda: language(Decoder(MaskedLate)))
cases.add(ROWS, "encoder, no softmax", lambda: text(Encoder(Unweighted)))
cases.add(ROWS, "decoder, sigmoid for softmax", lambda: language(Decoder(Gates)))
cases.add(ROWS, "encoder, weights doubled after the softmax", lambda: text(Encoder(Scaled)))


def text(model: nn.Module) -> Inputs:
    return Inputs(model, data.text(), CE)


@cases.fault(ROWS, "patches, softmax over the queries")
def _() -> Inputs:
    model = Patches()
    for block in model.blocks:
        block.attention = OverQueries()
    return Inputs(model, data.images(), CE)


class Ahead(Attention):
    def future(self, length: int) -> Tensor:
        return torch.ones(length, length, dtype=torch.bool).triu(2)


class Backwards(Attention):
    def future(self, length: int) -> Tensor:
        return torch.ones(length, length, dtype=torch.bool).tril(-1)


cases.add(FUTURE, "decoder, no mask", lambda: language(Decoder(causal=False)))
cases.add(FUTURE, "decoder, the mask is one off", lambda: language(Decoder(Ahead)))
cases.add(FUTURE, "decoder, the mask is transposed", lambda: language(Decoder(Backwards)))


@cases.fault(FUTURE, "decoder, one layer has no mask")
def _() -> Inputs:
    model = Decoder(layers=3)
    model.blocks[1].attention = Attention(causal=False)
    return language(model)


@cases.fault(FUTURE, "decoder, targets are the inputs")
def _() -> Inputs:
    tokens, _ = data.language()
    return Inputs(Decoder(), (tokens, tokens), data.next_token)


@cases.fault(FUTURE, "rnn, reads from both ends")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.rnn(net.tokens(x))[0]),
        tokens=nn.Embedding(data.VOCABULARY, WIDTH),
        rnn=nn.LSTM(WIDTH, WIDTH, batch_first=True, bidirectional=True),
        head=nn.Linear(2 * WIDTH, data.VOCABULARY),
    )
    return language(model)


@cases.fault(FUTURE, "convolutions padded on both sides")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.convs(net.tokens(x).transpose(1, 2)).transpose(1, 2)),
        tokens=nn.Embedding(data.VOCABULARY, WIDTH),
        convs=nn.Sequential(
            nn.Conv1d(WIDTH, WIDTH, 3, padding=1), nn.ReLU(), nn.Conv1d(WIDTH, WIDTH, 3, padding=1)
        ),
        head=nn.Linear(WIDTH, data.VOCABULARY),
    )
    return language(model)


@cases.fault(FUTURE, "torch's encoder without its mask")
def _() -> Inputs:
    class Plain(Decoder):
        def __init__(self) -> None:
            super().__init__(layers=0)
            layer = nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

        def through(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
            return super().through(self.encoder(x), mask)

    return language(Plain())


@cases.fault(FUTURE, "decoder, a mean over the whole sequence is added")
def _() -> Inputs:
    class Averaged(Decoder):
        def forward(self, tokens: Tensor) -> Any:
            x = self.through(self.embedded(tokens))
            return self.head(x + x.mean(1, keepdim=True))

    return language(Averaged())
