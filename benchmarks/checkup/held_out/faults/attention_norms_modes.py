"""Attention, norms, modes, samples, optimizers and states that are not kept right."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils import parametrizations

from benchmarks.checkup import data
from benchmarks.checkup.base_models import (
    HEADS,
    RNN,
    WIDTH,
    Attention,
    Autoencoder,
    Decoder,
    Encoder,
    Patches,
    cnn,
    mlp,
)
from benchmarks.checkup.case import CaseList, Inputs, Net
from benchmarks.checkup.data import VOCABULARY

cases = CaseList("reporting")
ROWS, FUTURE = "attention_rows_sum_to_one", "sees_no_future"
MASKS, PLACES, NORMS = "respects_masks", "uses_positions", "normalisation_normalises"
MODES, CERTAIN, APART = "modes_differ", "evaluation_is_deterministic", "samples_stay_apart"
HOLDS, SAVING = "optimizer_holds_every_parameter", "survives_saving"
CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()


def language(model: nn.Module) -> Inputs:
    return Inputs(model, data.language(), data.next_token)


def padded(model: nn.Module) -> Inputs:
    tokens, mask, labels = data.padded()
    return Inputs(model, ({"tokens": tokens, "attention_mask": mask}, labels), CE)


def rows(model: nn.Module) -> Inputs:
    both = data.table()[0]
    return Inputs(model, (both, both), MSE)


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
    """Linear attention with a sum over all places, where a running one is meant."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        del mask
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        mixed = q @ (k.transpose(1, 2) @ v) / (q * k.sum(1, keepdim=True)).sum(-1, keepdim=True)
        return self.out(mixed)


cases.add(FUTURE, "decoder, linear attention over all", lambda: language(Decoder(Summed)))


class BothWays(nn.Module):
    """The way back starts in the padding."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.rnn = nn.GRU(WIDTH, WIDTH, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * WIDTH, 3)

    def forward(self, tokens: Tensor, attention_mask: Tensor) -> Any:
        kept = attention_mask[..., None].float()
        return self.head((self.rnn(self.tokens(tokens))[0] * kept).sum(1) / kept.sum(1))


class Reaches(nn.Module):
    """A convolution at the last word takes in what is padding."""

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
    """A score for each distance, but the distance is that of a place to itself."""

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


class RootlessNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x / (x.square().mean(-1, keepdim=True) + 1e-6)


class ChannelNorm(nn.Module):
    """Means of each sample, but the spread of the whole batch."""

    def forward(self, x: Tensor) -> Tensor:
        return (x - x.mean((2, 3), keepdim=True)) / (x.var() + 1e-5).sqrt()


@cases.fault(NORMS, "transformer, an own RMS norm forgets the root")
def _() -> Inputs:
    model = Decoder()
    for block in model.blocks:
        block.norm1, block.norm2 = RootlessNorm(WIDTH), RootlessNorm(WIDTH)
    return language(model)


@cases.fault(NORMS, "cnn, an own norm divides by the spread of the batch")
def _() -> Inputs:
    model = cnn()
    model[1], model[5] = ChannelNorm(), ChannelNorm()
    return Inputs(model, data.images(), CE)


@cases.fault(MODES, "rnn, an own train() forgets which mode")
def _() -> Inputs:
    class Forgets(RNN):
        def __init__(self) -> None:
            super().__init__()
            self.dropout = nn.Dropout(0.4)

        def train(self, mode: bool = True) -> Forgets:
            del mode
            super().train()
            return self

        def last(self, states: Tensor) -> Tensor:
            last: Tensor = self.dropout(states[:, -1])
            return last

    return Inputs(Forgets(), data.series(), CE)


@cases.fault(MODES, "cnn, train() of the body is switched off as if it were frozen")
def _() -> Inputs:
    model = Net(lambda net, x: net.head(net.body(x)), body=cnn()[:-1], head=nn.Linear(144, 4))
    body = model.get_submodule("body").eval()
    body.train = lambda *_: body  # type: ignore[method-assign]
    return Inputs(model, data.images(), CE)


@cases.fault(CERTAIN, "cnn, two branches are mixed at random in evaluation too")
def _() -> Inputs:
    def shaken(net: Any, x: Tensor) -> Any:
        share = torch.rand(len(x), 1, 1, 1)
        mixed = share * net.one(x) + (1 - share) * net.other(x)
        return net.head(mixed.relu().mean((2, 3)))

    one, other = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(1, 16, 3, padding=1)
    return Inputs(Net(shaken, one=one, other=other, head=nn.Linear(16, 4)), data.images(), CE)


@cases.fault(CERTAIN, "autoencoder, inputs are spoilt in evaluation too")
def _() -> Inputs:
    class Spoilt(Autoencoder):
        def forward(self, x: Tensor) -> Any:
            return super().forward(x * torch.empty_like(x).bernoulli_(0.7))

    return rows(Spoilt())


@cases.fault(APART, "rnn, a running sum over the samples")
def _() -> Inputs:
    return Inputs(Net(lambda net, x: net.body(x.cumsum(0)), body=RNN()), data.series(), CE)


@cases.fault(APART, "cnn, rolled without a dimension")
def _() -> Inputs:
    model = Net(lambda net, x: net.body(x + torch.roll(x, 6)), body=cnn())
    return Inputs(model, data.images(), CE)


@cases.fault(APART, "mlp, ranks within the batch")
def _() -> Inputs:
    model = Net(lambda net, x: net.body(x.argsort(0).argsort(0) / len(x)), body=mlp())
    return Inputs(model, data.table(), CE)


@cases.fault(HOLDS, "rnn, weight norm came after the optimizer")
def _() -> Inputs:
    model = RNN()
    optimizer = torch.optim.Adam(model.parameters())
    parametrizations.weight_norm(model.head)
    return Inputs(model, data.series(), CE, optimizer)


@cases.fault(HOLDS, "autoencoder, layers are appended after the optimizer was made")
def _() -> Inputs:
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for layer in (nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 8)):
        model.append(layer)
    both = data.table()[0]
    return Inputs(model, (both, both), MSE, optimizer)
