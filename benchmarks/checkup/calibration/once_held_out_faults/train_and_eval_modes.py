"""Faults of train and eval modes, and random outputs in evaluation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import RNN, Autoencoder, Encoder, cnn
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
MODES, CERTAIN = "modes_differ", "evaluation_is_deterministic"
CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()


@cases.fault(MODES, "mlp, an own eval() forgets the children")
def _() -> Inputs:
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

    return Inputs(Alone(), data.table(), CE)


@cases.fault(MODES, "cnn, train() reaches the head only")
def _() -> Inputs:
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

    return Inputs(Headed(), data.images(), CE)


@cases.fault(MODES, "autoencoder, the forward pass calls train()")
def _() -> Inputs:
    class Trains(Autoencoder):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(4)

        def bottleneck(self, code: Tensor) -> Tensor:
            self.train()
            normed: Tensor = self.norm(code)
            return normed

    rows = data.table()[0]
    return Inputs(Trains(), (rows, rows), MSE)


@cases.fault(MODES, "transformer, the forward pass ends in evaluation")
def _() -> Inputs:
    class Ends(Encoder):
        def __init__(self) -> None:
            super().__init__()
            self.dropout = nn.Dropout(0.3)

        def embedded(self, tokens: Tensor) -> Tensor:
            self.eval()
            kept: Tensor = self.dropout(super().embedded(tokens))
            return kept

    return Inputs(Ends(), data.text(), CE)


@cases.fault(CERTAIN, "rnn, dropout in evaluation and none in training")
def _() -> Inputs:
    class TurnedRound(RNN):
        def last(self, states: Tensor) -> Tensor:
            return F.dropout(states[:, -1], 0.5, training=not self.training)

    return Inputs(TurnedRound(), data.series(), CE)


@cases.fault(CERTAIN, "transformer, words are left out at random")
def _() -> Inputs:
    class LeftOut(Encoder):
        def embedded(self, tokens: Tensor) -> Tensor:
            return super().embedded(tokens.masked_fill(torch.rand(tokens.shape) < 0.15, 0))

    return Inputs(LeftOut(), data.text(), CE)


@cases.fault(CERTAIN, "cnn, images are made brighter or darker at random")
def _() -> Inputs:
    model = Net(lambda net, x: net.body(x * (0.7 + 0.6 * torch.rand(len(x), 1, 1, 1))), body=cnn())
    return Inputs(model, data.images(), CE)


@cases.fault(CERTAIN, "mlp, slopes that are random in evaluation too")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.last(F.rrelu(net.first(x), training=True)),
        first=nn.Linear(8, 32),
        last=nn.Linear(32, 3),
    )
    return Inputs(model, data.table(), CE)
