"""Arithmetic that breaks at extreme inputs or in low precision."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.checkup import data
from benchmarks.checkup.base_models import WIDTH, Attention, Block, Decoder, mlp
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
EDGE, LOWER = "survives_edge_inputs", "survives_lower_precision"
CE = nn.CrossEntropyLoss()


@cases.fault(EDGE, "cnn, the spread of each channel is pooled")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.conv(x).tanh().var((2, 3)).sqrt()),
        conv=nn.Conv2d(1, 16, 3),
        head=nn.Linear(16, 4),
    )
    return Inputs(model, data.images(), CE)


@cases.fault(EDGE, "mlp, an own softplus that overflows")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.last((1 + (20 * net.first(x)).exp()).log() / 20),
        first=nn.Linear(8, 32),
        last=nn.Linear(32, 3),
    )
    return Inputs(model, data.table(), CE)


@cases.fault(EDGE, "series, correlations of channels")
def _() -> Inputs:
    def correlated(net: Any, x: Tensor) -> Any:
        centred = x - x.mean(1, keepdim=True)
        products = centred.transpose(1, 2) @ centred
        size = products.diagonal(dim1=1, dim2=2).sqrt()
        return net.body((products / size[:, :, None] / size[:, None, :]).flatten(1))

    return Inputs(Net(correlated, body=mlp(16)), data.series(), CE)


@cases.fault(EDGE, "autoencoder, parts of a whole that may be nothing")
def _() -> Inputs:
    def parts(net: Any, x: Tensor) -> Any:
        whole = x.sum(1, keepdim=True)
        return net.body(x / whole) * whole

    rows = data.table()[0].sigmoid()
    body = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
    return Inputs(Net(parts, body=body), (rows, rows), nn.MSELoss())


class Gated(Block):
    """Mixes float32 inputs with attention outputs of lower precision."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        x = torch.lerp(x, self.attention(self.norm1(x), mask), 0.5)
        return x + self.feed(self.norm2(x))


@cases.fault(LOWER, "transformer, lerp of two precisions")
def _() -> Inputs:
    model = Decoder(layers=0)
    model.blocks = nn.ModuleList(Gated(Attention(causal=True)) for _ in range(2))
    return Inputs(model, data.language(), data.next_token)


@cases.fault(LOWER, "mlp, the difference of two large numbers")
def _() -> Inputs:
    def moved(net: Any, x: Tensor) -> Any:
        return net.last((net.first(x + 2000) - net.first(torch.full_like(x, 2000))).relu())

    model = Net(moved, first=nn.Linear(8, 32), last=nn.Linear(32, 3))
    return Inputs(model, data.table(), CE)


@cases.fault(LOWER, "rnn, the log of a product of probabilities")
def _() -> Inputs:
    def likely(net: Any, x: Tensor) -> Any:
        steps = net.head(net.rnn(x)[0])
        product = torch.ones_like(steps[:, 0])
        for step in steps.unbind(1):
            product = product * (step - 3).sigmoid()
        return product.log()

    model = Net(likely, rnn=nn.GRU(4, WIDTH, batch_first=True), head=nn.Linear(WIDTH, 3))
    return Inputs(model, data.series(), CE)
