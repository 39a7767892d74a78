"""Faults of gradient flow: cut gradients and unused parameters."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.checkup import data
from benchmarks.checkup.base_models import RNN, WIDTH, Autoencoder, Decoder, cnn, mlp
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
REACHES, USED = "gradient_reaches_every_parameter", "every_parameter_is_used"
CE = nn.CrossEntropyLoss()


@cases.fault(REACHES, "mlp, detached between two layers")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.last(net.first(x).relu().detach()),
        first=nn.Linear(8, 32),
        last=nn.Linear(32, 3),
    )
    return Inputs(model, data.table(), CE)


@cases.fault(REACHES, "cnn, .data of the features")
def _() -> Inputs:
    body, head = cnn()[:-1], nn.Linear(144, 4)
    model = Net(lambda net, x: net.head(net.body(x).data), body=body, head=head)
    return Inputs(model, data.images(), CE)


@cases.fault(REACHES, "transformer, the embedding under no_grad")
def _() -> Inputs:
    class Blind(Decoder):
        def embedded(self, tokens: Tensor) -> Tensor:
            with torch.no_grad():
                return super().embedded(tokens)

    return Inputs(Blind(), data.language(), data.next_token)


@cases.fault(REACHES, "rnn, argmax of a layer picks an embedding")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.rnn(net.codes(net.choose(x).argmax(-1)))[0][:, -1]),
        choose=nn.Linear(4, 10),
        codes=nn.Embedding(10, 16),
        rnn=nn.GRU(16, WIDTH, batch_first=True),
        head=nn.Linear(WIDTH, 3),
    )
    return Inputs(model, data.series(), CE)


@cases.fault(REACHES, "mlp, every ReLU is dead")
def _() -> Inputs:
    model = mlp()
    nn.init.constant_(model.get_parameter("2.bias"), -100)
    return Inputs(model, data.table(), CE)


@cases.fault(REACHES, "autoencoder, the code is rounded")
def _() -> Inputs:
    class Rounded(Autoencoder):
        def bottleneck(self, code: Tensor) -> Tensor:
            return (10 * code).round()

    rows = data.table()[0]
    return Inputs(Rounded(), (rows, rows), nn.MSELoss())


@cases.fault(REACHES, "mlp, sigmoids saturated to the last digit")
def _() -> Inputs:
    model = nn.Sequential(nn.Linear(8, 32), nn.Sigmoid(), nn.Linear(32, 3))
    nn.init.constant_(model.get_parameter("0.bias"), 500)
    return Inputs(model, data.table(), CE)


@cases.fault(REACHES, "rnn, the state is made anew as a tensor")
def _() -> Inputs:
    class Anew(RNN):
        def last(self, states: Tensor) -> Tensor:
            return torch.tensor(states[:, -1].tolist())

    return Inputs(Anew(), data.series(), CE)


@cases.fault(USED, "mlp, a layer is never called")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.last(net.first(x).relu()),
        first=nn.Linear(8, 32),
        second=nn.Linear(32, 32),
        last=nn.Linear(32, 3),
    )
    return Inputs(model, data.table(), CE)


@cases.fault(USED, "cnn, the layers are in a plain list")
def _() -> Inputs:
    class Listed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)]
            self.head = nn.Linear(8 * 144, 4)

        def forward(self, x: Tensor) -> Any:
            for layer in self.layers:
                x = layer(x).relu()
            return self.head(x.flatten(1))

    return Inputs(Listed(), data.images(), CE)


@cases.fault(USED, "transformer, the last block is left out")
def _() -> Inputs:
    class Short(Decoder):
        def through(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
            for block in self.blocks[:-1]:
                x = block(x, mask)
            return self.norm(x)  # type: ignore[no-any-return]

    return Inputs(Short(), data.language(), data.next_token)


@cases.fault(USED, "rnn, its output is not what is classified")
def _() -> Inputs:
    class Past(RNN):
        def __init__(self) -> None:
            super().__init__()
            self.direct = nn.Linear(4, WIDTH)

        def forward(self, x: Tensor) -> Any:
            return self.head(self.direct(x[:, -1]))

    return Inputs(Past(), data.series(), CE)


@cases.fault(USED, "autoencoder, a second decoder by mistake")
def _() -> Inputs:
    model = Autoencoder()
    model.add_module("decoder2", nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 8)))
    rows = data.table()[0]
    return Inputs(model, (rows, rows), nn.MSELoss())


@cases.fault(USED, "transformer, a layer is in a plain dict")
def _() -> Inputs:
    class Kept(Decoder):
        def __init__(self) -> None:
            super().__init__()
            self.extra = {"last": nn.Linear(WIDTH, WIDTH)}

        def forward(self, tokens: Tensor) -> Any:
            x = self.through(self.embedded(tokens))
            return self.head(x + self.extra["last"](x).relu())

    return Inputs(Kept(), data.language(), data.next_token)
