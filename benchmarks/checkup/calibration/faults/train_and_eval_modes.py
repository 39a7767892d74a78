"""Faults of train and eval modes, and random outputs in evaluation."""

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
MODES, CERTAIN = "modes_differ", "evaluation_is_deterministic"
CE = nn.CrossEntropyLoss()


class Always(nn.Module):
    """Its `train` ignores the argument."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def train(self, mode: bool = True) -> Always:
        del mode
        return super().train(True)

    def forward(self, x: Tensor) -> Any:
        return self.body(x)


class Never(Always):
    """Its `train` does nothing, and it starts in evaluation mode."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__(body)
        for each in self.modules():
            each.training = False

    def train(self, mode: bool = True) -> Never:
        del mode
        return self


def dropped() -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 3))


cases.add(MODES, "mlp, eval() keeps dropout", lambda: Inputs(Always(dropped()), data.table(), CE))
cases.add(MODES, "cnn, train() is not passed on", lambda: Inputs(Never(cnn()), data.images(), CE))


@cases.fault(MODES, "rnn, dropout is set to eval in the forward pass")
def _() -> Inputs:
    class Stuck(RNN):
        def __init__(self) -> None:
            super().__init__()
            self.dropout = nn.Dropout(0.5)

        def last(self, states: Tensor) -> Tensor:
            self.dropout.eval()
            kept: Tensor = self.dropout(states[:, -1])
            return kept

    return Inputs(Stuck(), data.series(), CE)


@cases.fault(MODES, "transformer, dropout in a plain list")
def _() -> Inputs:
    class Hidden(Encoder):
        def __init__(self) -> None:
            super().__init__()
            self.extra = [nn.Dropout(0.3)]

        def embedded(self, tokens: Tensor) -> Tensor:
            kept: Tensor = self.extra[0](super().embedded(tokens))
            return kept

    return Inputs(Hidden(), data.text(), CE)


@cases.fault(MODES, "autoencoder, train(mode) turned round")
def _() -> Inputs:
    class Turned(Always):
        def train(self, mode: bool = True) -> Turned:
            nn.Module.train(self, not mode)
            return self

    rows = data.table()[0]
    body = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8))
    return Inputs(Turned(body).train(), (rows, rows), nn.MSELoss())


@cases.fault(CERTAIN, "mlp, functional dropout always on")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.last(F.dropout(net.first(x).relu(), 0.5)),
        first=nn.Linear(8, 32),
        last=nn.Linear(32, 3),
    )
    return Inputs(model, data.table(), CE)


@cases.fault(CERTAIN, "cnn, noise on every input")
def _() -> Inputs:
    model = Net(lambda net, x: net.body(x + 0.1 * torch.randn_like(x)), body=cnn())
    return Inputs(model, data.images(), CE)


@cases.fault(CERTAIN, "autoencoder, the code is drawn in evaluation")
def _() -> Inputs:
    class Drawn(Autoencoder):
        def bottleneck(self, code: Tensor) -> Tensor:
            return code + 0.5 * torch.randn_like(code)

    rows = data.table()[0]
    return Inputs(Drawn(), (rows, rows), nn.MSELoss())


@cases.fault(CERTAIN, "rnn, a random first state")
def _() -> Inputs:
    class Random(RNN):
        def forward(self, x: Tensor) -> Any:
            state = torch.randn(1, len(x), WIDTH)
            return self.head(self.last(self.rnn(x, (state, state))[0]))

    return Inputs(Random(), data.series(), CE)


@cases.fault(CERTAIN, "transformer, dropout on attention always on")
def _() -> Inputs:
    class Dropped(Attention):
        def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
            return F.dropout(super().weights(scores, mask), 0.1)

    return Inputs(Decoder(Dropped), data.language(), data.next_token)


@cases.fault(CERTAIN, "mlp, a random half of the columns")
def _() -> Inputs:
    model = Net(lambda net, x: net.body(x * (torch.rand(x.shape[1]) < 0.5)), body=mlp())
    return Inputs(model, data.table(), CE)
