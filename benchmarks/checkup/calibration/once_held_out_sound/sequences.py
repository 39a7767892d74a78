"""More sound recurrent and convolutional models of sequences."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import WIDTH, mlp
from benchmarks.checkup.case import CaseList, Inputs, Net
from benchmarks.checkup.data import VOCABULARY

cases = CaseList()
CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()


@cases.sound("lstm with a projection")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.rnn(x)[0][:, -1]),
        rnn=nn.LSTM(4, 48, proj_size=16, batch_first=True),
        head=nn.Linear(16, 3),
    )
    return Inputs(model, data.series(), CE, torch.optim.Adam(model.parameters(), lr=2e-3))


@cases.sound("lstm both ways, the highest of its states")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.rnn(net.tokens(x))[0].amax(1)),
        tokens=nn.Embedding(VOCABULARY, 16),
        rnn=nn.LSTM(16, 16, batch_first=True, bidirectional=True),
        head=nn.Linear(32, 3),
    )
    return Inputs(model, data.text(), CE)


@cases.sound("gru, its last state, a layer norm")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.norm(net.rnn(x)[1][-1])),
        rnn=nn.GRU(4, WIDTH, 2, batch_first=True, dropout=0.1),
        norm=nn.LayerNorm(WIDTH),
        head=nn.Linear(WIDTH, 3),
    )
    return Inputs(model, data.series(), CE)


@cases.sound("gru whose states are weighed")
def _() -> Inputs:
    def weighed(net: Any, x: Tensor) -> Any:
        states = net.rnn(x)[0]
        weights = net.score(net.turn(states).tanh()).softmax(1)
        return net.head((weights * states).sum(1))

    model = Net(
        weighed,
        rnn=nn.GRU(4, WIDTH, batch_first=True),
        turn=nn.Linear(WIDTH, WIDTH),
        score=nn.Linear(WIDTH, 1, bias=False),
        head=nn.Linear(WIDTH, 3),
    )
    return Inputs(model, data.series(), CE)


@cases.sound("plain rnn with orthogonal weights")
def _() -> Inputs:
    rnn = nn.RNN(4, WIDTH, batch_first=True, nonlinearity="relu")
    nn.init.orthogonal_(rnn.get_parameter("weight_hh_l0"))
    model = Net(lambda net, x: net.head(net.rnn(x)[0][:, -1]), rnn=rnn, head=nn.Linear(WIDTH, 3))
    return Inputs(model, data.series(), CE)


@cases.sound("four values ahead, a cell that is fed its own output")
def _() -> Inputs:
    class Ahead(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.read = nn.GRU(2, WIDTH, batch_first=True)
            self.write, self.head = nn.GRUCell(2, WIDTH), nn.Linear(WIDTH, 2)

        def forward(self, x: Tensor) -> Any:
            state, value, made = self.read(x)[1][0], x[:, -1], []
            for _ in range(4):
                state = self.write(value, state)
                value = value + self.head(state)
                made.append(value)
            return torch.stack(made, 1)

    waves, _ = data.series(length=16, width=2)
    return Inputs(Ahead(), (waves[:, :12], waves[:, 12:]), MSE)


@cases.sound("letters of a sound, CTC")
def _() -> Inputs:
    def judged(outputs: Tensor, letters: Tensor) -> Tensor:
        count = len(letters)
        steps, length = torch.full((count,), outputs.shape[1]), torch.full((count,), 4)
        return F.ctc_loss(outputs.transpose(0, 1), letters, steps, length)

    model = Net(
        lambda net, x: net.head(net.rnn(x)[0]).log_softmax(-1),
        rnn=nn.GRU(8, WIDTH, batch_first=True, bidirectional=True),
        head=nn.Linear(2 * WIDTH, 6),
    )
    return Inputs(model, (torch.randn(16, 20, 8), torch.randint(1, 6, (16, 4))), judged)


@cases.sound("linear recurrence of each channel")
def _() -> Inputs:
    class Linear(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.head = nn.Linear(4, WIDTH), nn.Linear(WIDTH, 3)
            self.decay = nn.Parameter(torch.linspace(0, 3, WIDTH))

        def forward(self, x: Tensor) -> Any:
            kept, state = self.decay.sigmoid(), torch.zeros(len(x), WIDTH)
            for step in self.first(x).unbind(1):
                state = kept * state + (1 - kept) * step
            return self.head(F.gelu(state))

    return Inputs(Linear(), data.series(), CE)


@cases.sound("a frozen reservoir, a head that reads it")
def _() -> Inputs:
    rnn = nn.RNN(4, 64, batch_first=True).requires_grad_(False)
    model = Net(lambda net, x: net.head(net.rnn(x)[0].mean(1)), rnn=rnn, head=nn.Linear(64, 3))
    optimizer = torch.optim.SGD(model.get_submodule("head").parameters(), lr=0.1)
    return Inputs(model, data.series(), CE, optimizer)


@cases.sound("words and their neighbours")
def _() -> Inputs:
    model = nn.Sequential(nn.Embedding(VOCABULARY, 16), nn.Linear(16, VOCABULARY, bias=False))
    words = torch.randint(VOCABULARY, (64,))
    return Inputs(model, (words, (words + torch.randint(1, 3, (64,))) % VOCABULARY), CE)


@cases.sound("texts of many lengths, an embedding bag")
def _() -> Inputs:
    class Bag(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bag = nn.EmbeddingBag(VOCABULARY, 24, mode="mean", padding_idx=0)
            self.head = mlp(24, 3)

        def forward(self, tokens: Tensor) -> Any:
            return self.head(self.bag(tokens))

    tokens, _, labels = data.padded()
    return Inputs(Bag(), (tokens, labels), CE)


@cases.sound("convolutions, then an lstm, over a series")
def _() -> Inputs:
    def run(net: Any, x: Tensor) -> Any:
        hidden = net.convs(x.transpose(1, 2)).transpose(1, 2)
        return net.head(net.rnn(hidden)[0][:, -1])

    convs = nn.Sequential(
        nn.Conv1d(4, 16, 3, padding=1), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2)
    )
    model = Net(
        run, convs=convs, rnn=nn.LSTM(16, WIDTH, batch_first=True), head=nn.Linear(WIDTH, 3)
    )
    return Inputs(model, data.series(), CE)


@cases.sound("a label for each word, -100 for padding")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.rnn(net.tokens(x))[0]),
        tokens=nn.Embedding(VOCABULARY, 16, padding_idx=0),
        rnn=nn.GRU(16, WIDTH, batch_first=True),
        head=nn.Linear(WIDTH, 4),
    )
    tokens, mask, _ = data.padded()
    labels = (tokens % 4).masked_fill(~mask, -100)
    return Inputs(model, (tokens, labels), data.next_token)


@cases.sound("video, convolutions of each frame and a gru")
def _() -> Inputs:
    def run(net: Any, x: Tensor) -> Any:
        frames = net.frame(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        return net.head(net.rnn(frames)[0][:, -1])

    frame = nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(128, 16)
    )
    model = Net(run, frame=frame, rnn=nn.GRU(16, WIDTH, batch_first=True), head=nn.Linear(WIDTH, 2))
    labels = torch.arange(16) % 2
    moves = torch.randn(16, 1, 1, 8, 8).expand(-1, 5, -1, -1, -1) + 0.3 * torch.randn(
        16, 5, 1, 8, 8
    )
    ramp = torch.linspace(-1, 1, 5)[None, :, None, None, None] * (2.0 * labels - 1).view(
        -1, 1, 1, 1, 1
    )
    return Inputs(model, (moves + ramp, labels), CE)
