"""Arithmetic that breaks at extreme inputs or in low precision."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

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
EDGE, LOWER = "survives_edge_inputs", "survives_lower_precision"
CE = nn.CrossEntropyLoss()


@cases.fault(EDGE, "mlp, divided by the spread of each sample")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.body((x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)), body=mlp()
    )
    return Inputs(model, data.table(), CE)


@cases.fault(EDGE, "cnn, log of grey values")
def _() -> Inputs:
    model = Net(lambda net, x: net.body(x.log()), body=cnn())
    images, labels = data.images()
    return Inputs(model, (images.sigmoid(), labels), CE)


@cases.fault(EDGE, "rnn, divided by the norm")
def _() -> Inputs:
    class Directed(RNN):
        def forward(self, x: Tensor) -> Any:
            return super().forward(x / x.norm(dim=-1, keepdim=True))

    return Inputs(Directed(), data.series(), CE)


@cases.fault(EDGE, "autoencoder, divided by the largest value")
def _() -> Inputs:
    class Scaled(Autoencoder):
        def forward(self, x: Tensor) -> Any:
            largest = x.abs().amax(1, keepdim=True)
            return super().forward(x / largest) * largest

    rows = data.table()[0]
    return Inputs(Scaled(), (rows, rows), nn.MSELoss())


@cases.fault(EDGE, "transformer, the highest token is beyond the embedding")
def _() -> Inputs:
    class Shifted(Encoder):
        def embedded(self, tokens: Tensor) -> Tensor:
            return super().embedded(tokens + 1)

    tokens, labels = data.text()
    return Inputs(Shifted(), (tokens.clamp(max=18), labels), CE)


@cases.fault(EDGE, "mlp, a root whose slope at zero is infinite")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.last(torch.cat([net.first(x), net.first(x).square().sqrt()], 1)),
        first=nn.Linear(8, 16, bias=False),
        last=nn.Linear(32, 3),
    )
    return Inputs(model, data.table(), CE)


@cases.fault(EDGE, "cnn, contrast without an epsilon")
def _() -> Inputs:
    def contrast(net: Any, x: Tensor) -> Any:
        low, high = x.amin((2, 3), keepdim=True), x.amax((2, 3), keepdim=True)
        return net.body((x - low) / (high - low))

    return Inputs(Net(contrast, body=cnn()), data.images(), CE)


@cases.fault(LOWER, "transformer, -1e9 as a mask")
def _() -> Inputs:
    class Masked(Attention):
        def hidden(self, scores: Tensor, mask: Tensor | None) -> Tensor:
            del mask
            return scores.masked_fill(self.future(scores.shape[-1]), -1e9)

    return Inputs(Decoder(Masked), data.language(), data.next_token)


@cases.fault(LOWER, "rnn, states are put into a float32 tensor")
def _() -> Inputs:
    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.head = nn.Linear(4 + WIDTH, WIDTH), nn.Linear(WIDTH, 3)

        def forward(self, x: Tensor) -> Any:
            state = torch.zeros(len(x), WIDTH)
            for step in x.unbind(1):
                there = step.abs().sum(1) > 0
                after = state.clone()
                after[there] = self.cell(torch.cat([step, state], 1)[there]).tanh()
                state = after
            return self.head(state)

    return Inputs(Loop(), data.series(), CE)


@cases.fault(LOWER, "mlp, exponentials without taking the highest off")
def _() -> Inputs:
    def gated(net: Any, x: Tensor) -> Any:
        powers = (8 * net.first(x)).exp()
        return net.last(powers / powers.sum(1, keepdim=True))

    model = Net(gated, first=nn.Linear(8, 32), last=nn.Linear(32, 3))
    return Inputs(model, data.table(), CE)


@cases.fault(LOWER, "graph, messages are added up in float32")
def _() -> Inputs:
    class Graph(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.message, self.head = nn.Linear(4, WIDTH), nn.Linear(WIDTH, 3)

        def forward(self, x: Tensor) -> Any:
            sums = torch.zeros(len(x), WIDTH, device=x.device)
            whose = torch.arange(len(x), device=x.device).repeat_interleave(x.shape[1])
            sums = sums.index_add(0, whose, self.message(x).relu().flatten(0, 1))
            return self.head(sums / x.shape[1])

    return Inputs(Graph(), data.series(), CE)


@cases.fault(LOWER, "mlp, an own norm with an epsilon of 1e-12")
def _() -> Inputs:
    def normed(net: Any, x: Tensor) -> Any:
        hidden = net.first(x).relu() * 1e-3
        centred = hidden - hidden.mean(1, keepdim=True)
        return net.last(centred / (centred.square().mean(1, keepdim=True) + 1e-12).sqrt())

    model = Net(normed, first=nn.Linear(8, 32), last=nn.Linear(32, 3))
    with torch.no_grad():
        model.get_parameter("first.weight").mul_(0.1)
    return Inputs(model, data.table(), CE)


@cases.fault(LOWER, "autoencoder, squares beyond 65504")
def _() -> Inputs:
    class Squared(Autoencoder):
        def bottleneck(self, code: Tensor) -> Tensor:
            large = 4000 * code
            return large / ((large * large).sum(1, keepdim=True) + 1e-5).sqrt()

    rows = data.table()[0]
    return Inputs(Squared(), (rows, rows), nn.MSELoss())
