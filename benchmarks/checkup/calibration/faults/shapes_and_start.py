"""Models that do not run, start badly, or work with one shape only."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import (
    RNN,
    WIDTH,
    Attention,
    Autoencoder,
    Decoder,
    Encoder,
    cnn,
    mlp,
)
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
RUNS, SANE, SHAPES = "runs_on_the_batch", "parameters_are_sane", "shapes_follow_the_batch"
CE = nn.CrossEntropyLoss()


@cases.fault(RUNS, "mlp, widths of two layers differ")
def _() -> Inputs:
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(16, 3))
    return Inputs(model, data.table(), CE)


@cases.fault(RUNS, "cnn, the size after pooling is wrong")
def _() -> Inputs:
    return Inputs(cnn(side=16), data.images(side=12), CE)


@cases.fault(RUNS, "rnn, log of what may be negative")
def _() -> Inputs:
    class Logged(RNN):
        def last(self, states: Tensor) -> Tensor:
            return states[:, -1].log()

    return Inputs(Logged(), data.series(), CE)


@cases.fault(RUNS, "transformer, tokens beyond the vocabulary")
def _() -> Inputs:
    return Inputs(Decoder(vocabulary=16), data.language(), data.next_token)


@cases.fault(RUNS, "autoencoder, the output is smaller than the image")
def _() -> Inputs:
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 1, 3, stride=2, padding=1),
    )
    images = data.pictures()
    return Inputs(model, (images, images), nn.MSELoss())


@cases.fault(RUNS, "mlp, whole numbers where floats are needed")
def _() -> Inputs:
    rows, labels = data.table()
    return Inputs(mlp(), ((10 * rows).long(), labels), CE)


@cases.fault(RUNS, "mlp, batch norm of one sample")
def _() -> Inputs:
    model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))
    return Inputs(model, data.table(1), CE)


@cases.fault(SANE, "mlp, a weight is NaN")
def _() -> Inputs:
    model = mlp()
    with torch.no_grad():
        model.get_parameter("2.weight")[3, 5] = float("nan")
    return Inputs(model, data.table(), CE)


@cases.fault(SANE, "cnn, all weights of a layer equal")
def _() -> Inputs:
    model = cnn()
    nn.init.constant_(model.get_parameter("4.weight"), 0.05)
    return Inputs(model, data.images(), CE)


@cases.fault(SANE, "rnn, weights a million times too large")
def _() -> Inputs:
    model = RNN()
    with torch.no_grad():
        model.get_parameter("rnn.weight_hh_l0").mul_(1e6)
    return Inputs(model, data.series(), CE)


@cases.fault(SANE, "transformer, all units of a layer the same")
def _() -> Inputs:
    model = Decoder()
    with torch.no_grad():
        for place in range(len(model.blocks)):
            weight = model.get_parameter(f"blocks.{place}.feed.0.weight")
            weight.copy_(weight[:1].expand_as(weight))
            model.get_parameter(f"blocks.{place}.feed.0.bias").zero_()
    return Inputs(model, data.language(), data.next_token)


@cases.fault(SANE, "autoencoder, all zero")
def _() -> Inputs:
    model = Autoencoder()
    for each in model.parameters():
        nn.init.zeros_(each)
    rows = data.table()[0]
    return Inputs(model, (rows, rows), nn.MSELoss())


@cases.fault(SANE, "mlp, weights next to nothing")
def _() -> Inputs:
    model = mlp()
    nn.init.normal_(model.get_parameter("2.weight"), std=1e-12)
    return Inputs(model, data.table(), CE)


@cases.fault(SHAPES, "mlp, 32 samples in the code")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.last(net.first(x).relu().view(32, 16)),
        first=nn.Linear(8, 16),
        last=nn.Linear(16, 3),
    )
    return Inputs(model, data.table(32), CE)


@cases.fault(SHAPES, "cnn, squeeze takes the batch away")
def _() -> Inputs:
    class Squeezed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.head = nn.Conv2d(1, 16, 3, padding=1), nn.Linear(16, 4)

        def forward(self, x: Tensor) -> Any:
            return self.head(F.adaptive_avg_pool2d(self.conv(x).relu(), 1).squeeze())

    return Inputs(Squeezed(), data.images(), CE)


@cases.fault(SHAPES, "transformer, the mask is shorter than the context")
def _() -> Inputs:
    class Short(Attention):
        def future(self, length: int) -> Tensor:
            return torch.ones(16, 16, dtype=torch.bool).triu(1)[:length, :length]

    return Inputs(Decoder(Short), data.language(), data.next_token)


@cases.fault(SHAPES, "rnn, the first state is of 16 samples")
def _() -> Inputs:
    class Stated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.head = nn.GRU(4, WIDTH, batch_first=True), nn.Linear(WIDTH, 3)
            self.register_buffer("start", torch.zeros(1, 16, WIDTH))

        def forward(self, x: Tensor) -> Any:
            return self.head(self.rnn(x, self.start)[0][:, -1])

    return Inputs(Stated(), data.series(16), CE)


@cases.fault(SHAPES, "autoencoder, all samples become one row")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.decoder(net.encoder(x).mean(0, keepdim=True)),
        encoder=nn.Linear(8, 4),
        decoder=nn.Linear(4, 8),
    )
    return Inputs(model, data.table()[0])


@cases.fault(SHAPES, "transformer, twelve tokens in the code")
def _() -> Inputs:
    class Twelve(Encoder):
        def pooled(self, x: Tensor, mask: Tensor | None) -> Tensor:
            del mask
            return x.reshape(-1, data.LENGTH, WIDTH).mean(1)

        def embedded(self, tokens: Tensor) -> Tensor:
            return super().embedded(tokens).view(-1, data.LENGTH, WIDTH)

    return Inputs(Twelve(), data.text(), CE)


@cases.fault(SHAPES, "mlp, an output of one is squeezed to nothing")
def _() -> Inputs:
    model = Net(lambda net, x: net.body(x).squeeze(), body=mlp(outputs=1))
    rows, targets = data.curve()
    return Inputs(model, (rows, targets[:, 0]), nn.MSELoss())
