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


class Highest(Attention):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        weights = super().weights(scores, mask)
        return weights * (weights >= weights.topk(3, dim=-1).values[..., -1:])


class Turned(Attention):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return super().weights(scores, mask).transpose(-2, -1)


class OverAll(Attention):
    """The weights of a whole head sum to one, instead of those of each query."""

    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        powers = self.hidden(scores, mask).exp()
        return powers / powers.sum((-2, -1), keepdim=True)


class Dropping(Attention):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        del mask
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=0.2)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


@cases.fault(ROWS, "encoder, the three highest weights only")
def _() -> Inputs:
    return Inputs(Encoder(Highest), data.text(), CE)


@cases.fault(ROWS, "encoder, weights are transposed before the values")
def _() -> Inputs:
    return Inputs(Encoder(Turned), data.text(), CE)


@cases.fault(ROWS, "patches, divided by the sum of all queries")
def _() -> Inputs:
    model = Patches()
    for block in model.blocks:
        block.attention = OverAll()
    return Inputs(model, data.images(), CE)


@cases.fault(ROWS, "encoder, torch's attention drops weights always")
def _() -> Inputs:
    return Inputs(Encoder(Dropping), data.text(), CE)


class Added(Attention):
    """Adds ones and zeros to the scores instead of 0 and -inf."""

    def hidden(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        del mask
        return scores + (~self.future(scores.shape[-1])).to(scores.dtype)


cases.add(FUTURE, "decoder, ones and zeros are added", lambda: language(Decoder(Added)))


@cases.fault(FUTURE, "causal convolutions, a norm over time")
def _() -> Inputs:
    def run(net: Any, tokens: Tensor) -> Any:
        x = net.tokens(tokens).transpose(1, 2)
        x = x + net.norm(net.conv(F.pad(x, (2, 0)))).relu()
        return net.head(x.transpose(1, 2))

    return language(
        Net(
            run,
            tokens=nn.Embedding(data.VOCABULARY, WIDTH),
            conv=nn.Conv1d(WIDTH, WIDTH, 3),
            norm=nn.GroupNorm(4, WIDTH),
            head=nn.Linear(WIDTH, data.VOCABULARY),
        )
    )


@cases.fault(FUTURE, "tcn, cut at the wrong end")
def _() -> Inputs:
    def run(net: Any, tokens: Tensor) -> Any:
        x = net.tokens(tokens).transpose(1, 2)
        x = x + net.first(x)[..., 2:].relu()
        x = x + net.second(x)[..., 4:].relu()
        return net.head(x.transpose(1, 2))

    return language(
        Net(
            run,
            tokens=nn.Embedding(data.VOCABULARY, WIDTH),
            first=nn.Conv1d(WIDTH, WIDTH, 3, padding=2),
            second=nn.Conv1d(WIDTH, WIDTH, 3, padding=4, dilation=2),
            head=nn.Linear(WIDTH, data.VOCABULARY),
        )
    )


@cases.fault(FUTURE, "rnn, read from the end and not turned back")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.rnn(net.tokens(x).flip(1))[0]),
        tokens=nn.Embedding(data.VOCABULARY, WIDTH),
        rnn=nn.GRU(WIDTH, WIDTH, batch_first=True),
        head=nn.Linear(WIDTH, data.VOCABULARY),
    )
    return language(model)


class Translator(nn.Module):
    """Torch's transformer without a causal mask for its targets."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(data.VOCABULARY, WIDTH), nn.Embedding(64, WIDTH)
        self.body = nn.Transformer(WIDTH, 4, 1, 1, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(WIDTH, data.VOCABULARY)

    def embedded(self, tokens: Tensor) -> Tensor:
        embedded: Tensor = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        return embedded

    def forward(self, source: Tensor, target: Tensor) -> Any:
        return self.head(self.body(self.embedded(source), self.embedded(target)))


@cases.fault(FUTURE, "torch's transformer, no mask for the target")
def _() -> Inputs:
    source, _ = data.language()
    before, after = data.language()
    return Inputs(Translator(), ((source, before), after), data.next_token)
