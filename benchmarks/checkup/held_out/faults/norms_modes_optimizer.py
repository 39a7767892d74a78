"""Faults of norms, train and eval modes, independent samples, and optimizers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations

from benchmarks.checkup import data
from benchmarks.checkup.base_models import (
    RNN,
    WIDTH,
    Autoencoder,
    Decoder,
    cnn,
    mlp,
)
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList("reporting")
NORMS = "normalisation_normalises"
MODES, CERTAIN, APART = "modes_differ", "evaluation_is_deterministic", "samples_stay_apart"
HOLDS = "optimizer_holds_every_parameter"
CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()


def language(model: nn.Module) -> Inputs:
    return Inputs(model, data.language(), data.next_token)


def rows(model: nn.Module) -> Inputs:
    both = data.table()[0]
    return Inputs(model, (both, both), MSE)


class RootlessNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x / (x.square().mean(-1, keepdim=True) + 1e-6)


class ChannelNorm(nn.Module):
    """Subtracts means per sample but divides by the deviation of the whole batch."""

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
