"""Faults of attention, causal and padding masks, and positions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import (
    HEADS,
    WIDTH,
    Attention,
    Decoder,
    Encoder,
    Patches,
)
from benchmarks.checkup.case import CaseList, Inputs, Net
from benchmarks.checkup.data import VOCABULARY

cases = CaseList("reporting")
ROWS, FUTURE = "attention_rows_sum_to_one", "sees_no_future"
MASKS, PLACES = "respects_masks", "uses_positions"
CE = nn.CrossEntropyLoss()


def language(model: nn.Module) -> Inputs:
    return Inputs(model, data.language(), data.next_token)


def padded(model: nn.Module) -> Inputs:
    tokens, mask, labels = data.padded()
    return Inputs(model, ({"tokens": tokens, "attention_mask": mask}, labels), CE)


class Shared(Attention):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return super().weights(scores, mask) / scores.shape[-1]


class Logs(Attention):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return self.hidden(scores, mask).log_softmax(-1)


@cases.fault(ROWS, "encoder, divided by the length after the softmax")
def _() -> Inputs:
    return Inputs(Encoder(Shared), data.text(), CE)


@cases.fault(ROWS, "patches, log-softmax for softmax")
def _() -> Inputs:
    model = Patches()
    for block in model.blocks:
        block.attention = Logs()
    return Inputs(model, data.images(), CE)


def recurrent(run: Any) -> Inputs:
    return language(
        Net(
            run,
            tokens=nn.Embedding(VOCABULARY, WIDTH),
            rnn=nn.GRU(WIDTH, WIDTH, batch_first=True),
            head=nn.Linear(WIDTH, VOCABULARY),
        )
    )


@cases.fault(FUTURE, "rnn, the last state is added at every place")
def _() -> Inputs:
    def added(net: Any, tokens: Tensor) -> Any:
        states = net.rnn(net.tokens(tokens))[0]
        return net.head(states + states[:, -1:])

    return recurrent(added)


@cases.fault(FUTURE, "rnn, tokens are smoothed with both neighbours")
def _() -> Inputs:
    def smoothed(net: Any, tokens: Tensor) -> Any:
        words = F.avg_pool1d(net.tokens(tokens).transpose(1, 2), 3, stride=1, padding=1)
        return net.head(net.rnn(words.transpose(1, 2))[0])

    return recurrent(smoothed)


class Summed(Attention):
    """Linear attention with a sum over all positions instead of a running sum."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        del mask
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        mixed = q @ (k.transpose(1, 2) @ v) / (q * k.sum(1, keepdim=True)).sum(-1, keepdim=True)
        return self.out(mixed)


cases.add(FUTURE, "decoder, linear attention over all", lambda: language(Decoder(Summed)))


class BothWays(nn.Module):
    """The backward direction starts in the padding."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.rnn = nn.GRU(WIDTH, WIDTH, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * WIDTH, 3)

    def forward(self, tokens: Tensor, attention_mask: Tensor) -> Any:
        kept = attention_mask[..., None].float()
        return self.head((self.rnn(self.tokens(tokens))[0] * kept).sum(1) / kept.sum(1))


class Reaches(nn.Module):
    """A convolution at the last word includes padding."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.conv, self.head = nn.Conv1d(WIDTH, WIDTH, 5, padding=2), nn.Linear(WIDTH, 3)

    def forward(self, tokens: Tensor, attention_mask: Tensor) -> Any:
        made = self.conv(self.tokens(tokens).transpose(1, 2))
        return self.head(made.masked_fill(~attention_mask[:, None], -1e4).amax(-1))


class Queries(Attention):
    def hidden(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return scores if mask is None else scores.masked_fill(~mask[:, None, :, None], -1e4)


cases.add(MASKS, "rnn, the way back reads padding first", lambda: padded(BothWays()))
cases.add(MASKS, "cnn of texts, convolutions reach into padding", lambda: padded(Reaches()))
cases.add(MASKS, "encoder, queries are masked and keys are not", lambda: padded(Encoder(Queries)))


@cases.fault(PLACES, "patches, one place for all")
def _() -> Inputs:
    model = Patches()
    model.places = nn.Parameter(0.02 * torch.randn(1, 1, WIDTH))
    return Inputs(model, data.images(), CE)


class Itself(Attention):
    """A score for each distance, but always the distance of a position to itself."""

    def __init__(self, causal: bool = False) -> None:
        super().__init__(causal=causal)
        self.far = nn.Embedding(63, HEADS)

    def hidden(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        place = torch.arange(scores.shape[-1])
        far = self.far(place - place + 31)
        return super().hidden(scores + far.T[:, None, :], mask)


@cases.fault(PLACES, "encoder, the distance of each place to itself")
def _() -> Inputs:
    class Unplaced(Encoder):
        def __init__(self) -> None:
            super().__init__(Itself)
            del self.places

        def embedded(self, tokens: Tensor) -> Tensor:
            embedded: Tensor = self.tokens(tokens)
            return embedded

    return Inputs(Unplaced(), data.text(), CE)
