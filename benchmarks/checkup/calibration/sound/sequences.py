"""Sound models of series and texts, mostly without attention."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils.rnn import pack_padded_sequence

from benchmarks.checkup import data
from benchmarks.checkup.base_models import RNN, WIDTH, Decoder
from benchmarks.checkup.case import CaseList, Inputs, Net
from benchmarks.checkup.data import LENGTH, VOCABULARY

cases = CaseList()
CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()

cases.sound("lstm")(lambda: Inputs(RNN(), data.series(), CE))


@cases.sound("gru of two layers, both ways, dropout")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.rnn(x)[0].mean(1)),
        rnn=nn.GRU(4, WIDTH, 2, batch_first=True, bidirectional=True, dropout=0.2),
        head=nn.Linear(2 * WIDTH, 3),
    )
    return Inputs(model, data.series(), CE, torch.optim.Adam(model.parameters()))


@cases.sound("rnn, time first")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.rnn(x)[0][-1]),
        rnn=nn.RNN(4, WIDTH),
        head=nn.Linear(WIDTH, 3),
    )
    waves, labels = data.series()
    return Inputs(model, (waves.transpose(0, 1).contiguous(), labels), CE)


@cases.sound("rnn, no batch is given")
def _() -> Inputs:
    return Inputs(RNN())


@cases.sound("lstm, the next value of a series")
def _() -> Inputs:
    class Values(RNN):
        def last(self, states: Tensor) -> Tensor:
            return states

    waves, _ = data.series(length=LENGTH + 1)
    return Inputs(Values(outputs=4), (waves[:, :-1], waves[:, 1:]), MSE)


@cases.sound("lstm language model, tied weights")
def _() -> Inputs:
    class Language(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(VOCABULARY, WIDTH)
            self.rnn = nn.LSTM(WIDTH, WIDTH, batch_first=True)
            self.head = nn.Linear(WIDTH, VOCABULARY)
            self.head.weight = self.tokens.weight
            nn.init.normal_(self.tokens.weight, std=0.1)

        def forward(self, tokens: Tensor) -> Any:
            return self.head(self.rnn(self.tokens(tokens))[0])

    model = Language()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    return Inputs(model, data.language(), data.next_token, optimizer)


@cases.sound("gru over packed texts, lengths as an input")
def _() -> Inputs:
    class Packed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(VOCABULARY, WIDTH, padding_idx=0)
            self.rnn, self.head = nn.GRU(WIDTH, WIDTH, batch_first=True), nn.Linear(WIDTH, 3)

        def forward(self, tokens: Tensor, lengths: Tensor) -> Any:
            packed = pack_padded_sequence(
                self.tokens(tokens), lengths, batch_first=True, enforce_sorted=False
            )
            return self.head(self.rnn(packed)[1][-1])

    tokens, mask, labels = data.padded()
    return Inputs(Packed(), (tokens, mask.sum(1), labels), CE)


@cases.sound("cells in a loop")
def _() -> Inputs:
    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.head = nn.GRUCell(4, WIDTH), nn.Linear(WIDTH, 3)

        def forward(self, x: Tensor) -> Any:
            state = x.new_zeros(len(x), WIDTH)
            for step in x.unbind(1):
                state = self.cell(step, state)
            return self.head(state)

    return Inputs(Loop(), data.series(), CE)


@cases.sound("bag of words")
def _() -> Inputs:
    model = nn.Sequential(nn.EmbeddingBag(VOCABULARY, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 3))
    return Inputs(model, data.text(), CE)


@cases.sound("convolutions of texts, padding_idx")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(
            torch.cat(
                [conv(net.tokens(x).transpose(1, 2)).relu().amax(-1) for conv in net.convs], 1
            )
        ),
        tokens=nn.Embedding(VOCABULARY, 16, padding_idx=0),
        convs=nn.ModuleList(nn.Conv1d(16, 16, size) for size in (2, 3, 4)),
        head=nn.Sequential(nn.Dropout(0.2), nn.Linear(48, 3)),
    )
    return Inputs(model, data.padded()[::2], CE)


class Causal(nn.Module):
    """A causal convolution."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.conv, self.back = nn.Conv1d(width, width, 2, dilation=dilation), dilation

    def forward(self, x: Tensor) -> Any:
        return x + self.conv(F.pad(x, (self.back, 0))).relu()


@cases.sound("tcn, causal, a language model")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.convs(net.tokens(x).transpose(1, 2)).transpose(1, 2)),
        tokens=nn.Embedding(VOCABULARY, WIDTH),
        convs=nn.Sequential(*(Causal(WIDTH, 2**power) for power in range(3))),
        head=nn.Linear(WIDTH, VOCABULARY),
    )
    return Inputs(model, data.language(), data.next_token)


@cases.sound("wavenet, gates and ways around")
def _() -> Inputs:
    class Gated(nn.Module):
        def __init__(self, dilation: int) -> None:
            super().__init__()
            self.both = nn.Conv1d(16, 32, 2, dilation=dilation)
            self.out, self.back = nn.Conv1d(16, 16, 1), dilation

        def forward(self, x: Tensor) -> Any:
            value, gate = self.both(F.pad(x, (self.back, 0))).chunk(2, 1)
            return x + self.out(value.tanh() * gate.sigmoid())

    model = nn.Sequential(nn.Conv1d(1, 16, 1), Gated(1), Gated(2), Gated(4), nn.Conv1d(16, 1, 1))
    waves, _ = data.series(length=33, width=1)
    waves = waves.transpose(1, 2)
    return Inputs(model, (waves[..., :-1], waves[..., 1:]), MSE)


class Translator(nn.Module):
    """A recurrent encoder, and a decoder that attends to its states."""

    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(VOCABULARY, WIDTH)
        self.encoder = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.decoder = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.head = nn.Linear(2 * WIDTH, VOCABULARY)

    def forward(self, source: Tensor, target: Tensor) -> Any:
        states, last = self.encoder(self.source(source))
        asked = self.decoder(self.target(target), last)[0]
        weights = (asked @ states.transpose(1, 2) / WIDTH**0.5).softmax(-1)
        return self.head(torch.cat([asked, weights @ states], -1))


@cases.sound("seq2seq with attention")
def _() -> Inputs:
    source, _ = data.text()
    target, following = data.language(32, 9)
    return Inputs(Translator(), (source, target, following), data.next_token)


@cases.sound("lstm both ways, a label for each token")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.rnn(net.tokens(x))[0]),
        tokens=nn.Embedding(VOCABULARY, WIDTH),
        rnn=nn.LSTM(WIDTH, 16, batch_first=True, bidirectional=True),
        head=nn.Linear(32, 4),
    )
    tokens, _ = data.text()
    return Inputs(model, (tokens, tokens % 4), data.next_token)


def vectors(tokens: Tensor) -> Tensor:
    """Return word vectors made of how often two words are in the same text."""
    counts = F.one_hot(tokens, VOCABULARY).sum(1).float()
    left, sizes, _ = torch.linalg.svd((counts.T @ counts).log1p())
    given: Tensor = left[:, :16] * sizes[:16].sqrt()
    return given


@cases.sound("gru over given vectors that stay frozen, its mean without padding")
def _() -> Inputs:
    def run(net: Any, tokens: Tensor) -> Any:
        kept = (tokens != 0)[..., None].float()
        states = net.rnn(net.tokens(tokens))[0]
        return net.head((states * kept).sum(1) / kept.sum(1))

    tokens, _, labels = data.padded()
    start: Any = nn.Embedding.from_pretrained
    model = Net(
        run,
        tokens=start(vectors(tokens), padding_idx=0),
        rnn=nn.GRU(16, WIDTH, batch_first=True),
        head=nn.Linear(WIDTH, 3),
    )
    return Inputs(model, (tokens, labels), CE)


@cases.sound("gpt, one block in a loop, padding is left out of the loss")
def _() -> Inputs:
    class Again(Decoder):
        def __init__(self) -> None:
            super().__init__(layers=1)
            self.tokens = nn.Embedding(VOCABULARY, WIDTH, padding_idx=0)

        def through(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
            for _ in range(4):
                x = self.blocks[0](x, mask)
            normed: Tensor = self.norm(x)
            return normed

    def judged(outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs.transpose(1, 2), targets, ignore_index=0)

    tokens = data.padded(length=LENGTH + 1)[0]
    return Inputs(Again(), (tokens[:, :-1], tokens[:, 1:]), judged)
