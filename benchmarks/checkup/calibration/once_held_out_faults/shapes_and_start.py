"""Models that do not run, start badly, or work with one shape only."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.checkup import data
from benchmarks.checkup.base_models import RNN, WIDTH, Autoencoder, Decoder, cnn, mlp
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
RUNS, SANE, SHAPES = "runs_on_the_batch", "parameters_are_sane", "shapes_follow_the_batch"
CE = nn.CrossEntropyLoss()


@cases.fault(RUNS, "cnn, colours are the last dimension")
def _() -> Inputs:
    images, labels = data.images(channels=3)
    return Inputs(cnn(3), (images.permute(0, 2, 3, 1).contiguous(), labels), CE)


@cases.fault(RUNS, "mlp, changed in place before the backward pass")
def _() -> Inputs:
    def hidden(net: Any, x: Tensor) -> Any:
        powers = net.first(x).exp()
        powers += 1
        return net.last(powers)

    model = Net(hidden, first=nn.Linear(8, 32), last=nn.Linear(32, 3))
    return Inputs(model, data.table(), CE)


@cases.fault(RUNS, "rnn, output and state go into the head as a pair")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.rnn(x)),
        rnn=nn.LSTM(4, WIDTH, batch_first=True),
        head=nn.Linear(WIDTH, 3),
    )
    return Inputs(model, data.series(), CE)


@cases.fault(RUNS, "transformer, more tokens than places")
def _() -> Inputs:
    model = Decoder()
    model.places = nn.Embedding(8, WIDTH)
    return Inputs(model, data.language(), data.next_token)


@cases.fault(SANE, "mlp, a standard normal for every weight")
def _() -> Inputs:
    model = nn.Sequential(nn.Flatten(), mlp(784, 4, 512))
    for each in model.modules():
        if isinstance(each, nn.Linear):
            nn.init.normal_(each.weight)
    return Inputs(model, data.images(side=28), CE)


@cases.fault(SANE, "autoencoder, divided by a norm of zero")
def _() -> Inputs:
    model = Autoencoder()
    with torch.no_grad():
        weight = model.get_parameter("decoder.0.weight")
        weight[5] = 0
        weight.div_(weight.norm(dim=1, keepdim=True))
    rows = data.table()[0]
    return Inputs(model, (rows, rows), nn.MSELoss())


@cases.fault(SANE, "rnn, every gate and unit starts at 0.1")
def _() -> Inputs:
    model = RNN()
    for each in model.rnn.parameters():
        nn.init.constant_(each, 0.1)
    return Inputs(model, data.series(), CE)


@cases.fault(SHAPES, "rnn, the state of the first batch is kept")
def _() -> Inputs:
    class Stateful(RNN):
        state: tuple[Tensor, Tensor] | None = None

        def forward(self, x: Tensor) -> Any:
            if self.state is None:
                self.state = (torch.zeros(1, len(x), WIDTH), torch.zeros(1, len(x), WIDTH))
            states, (hidden, cell) = self.rnn(x, self.state)
            self.state = (hidden.detach(), cell.detach())
            return self.head(self.last(states))

    return Inputs(Stateful(), data.series(), CE)


@cases.fault(SHAPES, "transformer, places of 16 samples are kept")
def _() -> Inputs:
    class Kept(Decoder):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("ids", torch.arange(data.LENGTH).expand(16, -1).clone())

        def embedded(self, tokens: Tensor) -> Tensor:
            embedded: Tensor = self.tokens(tokens) + self.places(self.get_buffer("ids"))
            return embedded

    return Inputs(Kept(), data.language(16), data.next_token)


@cases.fault(SHAPES, "mlp, a bias for each sample of the batch")
def _() -> Inputs:
    class Biased(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.bias = mlp(), nn.Parameter(torch.zeros(32, 3))

        def forward(self, x: Tensor) -> Any:
            return self.body(x) + self.bias

    return Inputs(Biased(), data.table(32), CE)
