"""Training that is not told from evaluation, and evaluation that is left to chance."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.nets import RNN, Autoencoder, Encoder, cnn
from benchmarks.checkup.plant import Given, Net, Plants

plants = Plants()
MODES, CERTAIN = "modes_differ", "evaluation_is_deterministic"
CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()


@plants.fault(MODES, "mlp, an own eval() forgets the children")
def _() -> Given:
    class Alone(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Linear(8, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 3)
            )

        def eval(self) -> Alone:
            self.training = False
            return self

        def forward(self, x: Tensor) -> Any:
            return self.body(x)

    return Given(Alone(), data.table(), CE)


@plants.fault(MODES, "cnn, train() reaches the head only")
def _() -> Given:
    class Headed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = cnn()[:-1]
            self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(144, 4))

        def train(self, mode: bool = True) -> Headed:
            self.training = mode
            self.head.train(mode)
            return self

        def forward(self, x: Tensor) -> Any:
            return self.head(self.body(x))

    return Given(Headed(), data.images(), CE)


@plants.fault(MODES, "autoencoder, the forward pass calls train()")
def _() -> Given:
    class Trains(Autoencoder):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(4)

        def bottleneck(self, code: Tensor) -> Tensor:
            self.train()
            normed: Tensor = self.norm(code)
            return normed

    rows = data.table()[0]
    return Given(Trains(), (rows, rows), MSE)


@plants.fault(MODES, "transformer, the forward pass ends in evaluation")
def _() -> Given:
    class Ends(Encoder):
        def __init__(self) -> None:
            super().__init__()
            self.dropout = nn.Dropout(0.3)

        def embedded(self, tokens: Tensor) -> Tensor:
            self.eval()
            kept: Tensor = self.dropout(super().embedded(tokens))
            return kept

    return Given(Ends(), data.text(), CE)


@plants.fault(CERTAIN, "rnn, dropout in evaluation and none in training")
def _() -> Given:
    class TurnedRound(RNN):
        def last(self, states: Tensor) -> Tensor:
            return F.dropout(states[:, -1], 0.5, training=not self.training)

    return Given(TurnedRound(), data.series(), CE)


@plants.fault(CERTAIN, "transformer, words are left out at random")
def _() -> Given:
    class LeftOut(Encoder):
        def embedded(self, tokens: Tensor) -> Tensor:
            return super().embedded(tokens.masked_fill(torch.rand(tokens.shape) < 0.15, 0))

    return Given(LeftOut(), data.text(), CE)


@plants.fault(CERTAIN, "cnn, images are made brighter or darker at random")
def _() -> Given:
    model = Net(lambda net, x: net.body(x * (0.7 + 0.6 * torch.rand(len(x), 1, 1, 1))), body=cnn())
    return Given(model, data.images(), CE)


@plants.fault(CERTAIN, "mlp, slopes that are random in evaluation too")
def _() -> Given:
    model = Net(
        lambda net, x: net.last(F.rrelu(net.first(x), training=True)),
        first=nn.Linear(8, 32),
        last=nn.Linear(32, 3),
    )
    return Given(model, data.table(), CE)
