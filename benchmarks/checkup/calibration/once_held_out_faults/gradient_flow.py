"""Faults of gradient flow: cut gradients and unused parameters."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.checkup import data
from benchmarks.checkup.base_models import WIDTH, Autoencoder, Encoder, mlp
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
REACHES, USED = "gradient_reaches_every_parameter", "every_parameter_is_used"
CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()


@cases.fault(REACHES, "rnn, pooled with a softmax over one score")
def _() -> Inputs:
    def pooled(net: Any, x: Tensor) -> Any:
        states = net.rnn(x)[0]
        return net.head((states * net.score(states).softmax(-1)).sum(1))

    model = Net(
        pooled,
        rnn=nn.GRU(4, WIDTH, batch_first=True),
        score=nn.Linear(WIDTH, 1),
        head=nn.Linear(WIDTH, 3),
    )
    return Inputs(model, data.series(), CE)


@cases.fault(REACHES, "transformer, both factors of a low-rank change start at zero")
def _() -> Inputs:
    class Changed(nn.Module):
        def __init__(self, frozen: nn.Linear) -> None:
            super().__init__()
            self.frozen = frozen.requires_grad_(False)
            self.down = nn.Parameter(torch.zeros(4, frozen.in_features))
            self.up = nn.Parameter(torch.zeros(frozen.out_features, 4))

        def forward(self, x: Tensor) -> Any:
            return self.frozen(x) + x @ self.down.T @ self.up.T

    model = Encoder()
    for block in model.blocks:
        attention = block.attention
        attention.qkv = Changed(attention.qkv)  # type: ignore[arg-type, union-attr]
    return Inputs(model, data.text(), CE)


@cases.fault(REACHES, "cnn, the place of the highest value, by argmax")
def _() -> Inputs:
    def place(net: Any, x: Tensor) -> Any:
        highest = net.heat(x).flatten(2).argmax(-1)
        across, down = highest % 12, highest // 12
        return net.head(torch.cat([across, down], 1) / 12)

    images, _ = data.images()
    bright = images[:, 0].flatten(1).argmax(-1)
    targets = torch.stack([bright % 12, bright // 12], 1) / 12
    heat = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 8, 1))
    return Inputs(Net(place, heat=heat, head=mlp(16, 2)), (images, targets), MSE)


@cases.fault(REACHES, "rnn, the output of the first layer is overwritten")
def _() -> Inputs:
    def twice(net: Any, x: Tensor) -> Any:
        states, _ = net.first(x)
        states, _ = net.second(x)
        return net.head(states[:, -1])

    model = Net(
        twice,
        first=nn.GRU(4, WIDTH, batch_first=True),
        second=nn.GRU(4, WIDTH, batch_first=True),
        head=nn.Linear(WIDTH, 3),
    )
    return Inputs(model, data.series(), CE)


@cases.fault(USED, "mlp, the loop takes the first layer each time")
def _() -> Inputs:
    class Same(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(8, 32), nn.Linear(32, 3)
            self.layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(3))

        def forward(self, x: Tensor) -> Any:
            x = self.first(x).relu()
            for _ in self.layers:
                x = self.layers[0](x).relu()
            return self.last(x)

    return Inputs(Same(), data.table(), CE)


@cases.fault(USED, "autoencoder, the decoder is hidden in a function")
def _() -> Inputs:
    class Hidden(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
            decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 8))
            self.parts: dict[str, Any] = {"decode": lambda code: decoder(code)}

        def forward(self, x: Tensor) -> Any:
            return self.parts["decode"](self.encoder(x))

    rows = data.table()[0]
    return Inputs(Hidden(), (rows, rows), MSE)


@cases.fault(USED, "cnn, a layer is made in the forward pass")
def _() -> Inputs:
    def anew(net: Any, x: Tensor) -> Any:
        hidden = net.body(x).relu()
        made: nn.Module = nn.Conv2d(8, 8, 3, padding=1)
        return net.head(made(hidden).relu().mean((2, 3)))

    model = Net(anew, body=nn.Conv2d(1, 8, 3, padding=1), head=nn.Linear(8, 4))
    return Inputs(model, data.images(), CE)


@cases.fault(USED, "transformer, the last norm is forgotten")
def _() -> Inputs:
    class Unnormed(Encoder):
        def through(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
            for block in self.blocks:
                x = block(x, mask)
            return x

    return Inputs(Unnormed(), data.text(), CE)


@cases.fault(USED, "autoencoder, one half of a pair is never read")
def _() -> Inputs:
    class Half(Autoencoder):
        def __init__(self) -> None:
            super().__init__()
            self.scale, self.shift = nn.Parameter(torch.ones(4)), nn.Parameter(torch.zeros(4))

        def bottleneck(self, code: Tensor) -> Tensor:
            return code * self.scale + self.scale

    rows = data.table()[0]
    return Inputs(Half(), (rows, rows), MSE)
