"""Faults of mixed samples, incomplete optimizers, and saved states."""

from __future__ import annotations

import copy
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
APART, HOLDS, SAVING = "samples_stay_apart", "optimizer_holds_every_parameter", "survives_saving"
CE = nn.CrossEntropyLoss()


@cases.fault(APART, "rnn, batch_first forgotten")
def _() -> Inputs:
    model = RNN()
    model.rnn = nn.LSTM(4, WIDTH)
    return Inputs(model, data.series(), CE)


@cases.fault(APART, "torch's encoder, batch_first forgotten")
def _() -> Inputs:
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0)
    model = Net(
        lambda net, x: net.head(net.encoder(net.first(x)).mean(1)),
        first=nn.Linear(4, WIDTH),
        encoder=nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
        head=nn.Linear(WIDTH, 3),
    )
    return Inputs(model, data.series(), CE)


@cases.fault(APART, "cnn, view where transpose is meant")
def _() -> Inputs:
    def mixed(net: Any, x: Tensor) -> Any:
        samples, length, width = x.shape
        turned = x.permute(1, 0, 2).reshape(samples, width, length)
        return net.head(net.conv(turned).relu().mean(-1))

    model = Net(mixed, conv=nn.Conv1d(4, WIDTH, 3, padding=1), head=nn.Linear(WIDTH, 3))
    return Inputs(model, data.series(), CE)


@cases.fault(APART, "mlp, softmax over the batch")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.last(net.first(x).softmax(0)),
        first=nn.Linear(8, 32),
        last=nn.Linear(32, 3),
    )
    return Inputs(model, data.table(), CE)


@cases.fault(APART, "mlp, batch norm without running statistics")
def _() -> Inputs:
    norm = nn.BatchNorm1d(32, track_running_stats=False)
    model = nn.Sequential(nn.Linear(8, 32), norm, nn.ReLU(), nn.Linear(32, 3))
    return Inputs(model, data.table(), CE)


@cases.fault(APART, "transformer, attention over the samples")
def _() -> Inputs:
    class Across(Attention):
        def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
            return super().forward(x.transpose(0, 1), mask).transpose(0, 1)

    return Inputs(Encoder(Across), data.text(), CE)


@cases.fault(APART, "autoencoder, centred by the batch")
def _() -> Inputs:
    class Centred(Autoencoder):
        def bottleneck(self, code: Tensor) -> Tensor:
            return code - code.mean(0)

    rows = data.table()[0]
    return Inputs(Centred(), (rows, rows), nn.MSELoss())


@cases.fault(HOLDS, "mlp, the first layer is left out")
def _() -> Inputs:
    model = mlp()
    return Inputs(model, data.table(), CE, torch.optim.Adam(model[2:].parameters()))


@cases.fault(HOLDS, "cnn, of a copy")
def _() -> Inputs:
    model = cnn()
    optimizer = torch.optim.SGD(copy.deepcopy(model).parameters(), lr=0.1)
    return Inputs(model, data.images(), CE, optimizer)


@cases.fault(HOLDS, "rnn, the head was replaced afterwards")
def _() -> Inputs:
    model = RNN(outputs=5)
    optimizer = torch.optim.AdamW(model.parameters())
    model.head = nn.Linear(WIDTH, 3)
    return Inputs(model, data.series(), CE, optimizer)


@cases.fault(HOLDS, "transformer, the head is there twice")
def _() -> Inputs:
    model = Decoder()
    optimizer = torch.optim.AdamW([*model.parameters(), *model.head.parameters()])
    return Inputs(model, data.language(), data.next_token, optimizer)


@cases.fault(HOLDS, "autoencoder, the encoder only")
def _() -> Inputs:
    model = Autoencoder()
    rows = data.table()[0]
    optimizer = torch.optim.Adam(model.encoder.parameters())
    return Inputs(model, (rows, rows), nn.MSELoss(), optimizer)


@cases.fault(SAVING, "mlp, the layers are in a plain list")
def _() -> Inputs:
    class Listed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(8, 32), nn.Linear(32, 32)]
            self.last = nn.Linear(32, 3)

        def forward(self, x: Tensor) -> Any:
            for layer in self.layers:
                x = layer(x).relu()
            return self.last(x)

    return Inputs(Listed(), data.table(), CE)


@cases.fault(SAVING, "cnn, a plain tensor that is trained")
def _() -> Inputs:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.scale = cnn(), torch.full((4,), 1.5, requires_grad=True)

        def forward(self, x: Tensor) -> Any:
            return self.body(x) * self.scale

    return Inputs(Scaled(), data.images(), CE)


@cases.fault(SAVING, "rnn, state_dict leaves the head out")
def _() -> Inputs:
    class Partial(RNN):
        def state_dict(self, *args: Any, **kwargs: Any) -> Any:
            kept = super().state_dict(*args, **kwargs)
            return {name: each for name, each in kept.items() if "head" not in name}

        def load_state_dict(
            self, state_dict: Any, strict: bool = True, assign: bool = False
        ) -> Any:
            del strict
            return super().load_state_dict(state_dict, strict=False, assign=assign)

    return Inputs(Partial(), data.series(), CE)


@cases.fault(SAVING, "autoencoder, random features that are not kept")
def _() -> Inputs:
    class Projected(Autoencoder):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("turn", torch.randn(4, 4), persistent=False)

        def bottleneck(self, code: Tensor) -> Tensor:
            return code @ self.get_buffer("turn")

    rows = data.table()[0]
    return Inputs(Projected(), (rows, rows), nn.MSELoss())


@cases.fault(SAVING, "transformer, a plain tensor of places that is trained")
def _() -> Inputs:
    class Loose(Encoder):
        def __init__(self) -> None:
            super().__init__()
            self.loose = torch.randn(data.LENGTH, WIDTH).requires_grad_()

        def embedded(self, tokens: Tensor) -> Tensor:
            return super().embedded(tokens) + self.loose[: tokens.shape[1]]

    return Inputs(Loose(), data.text(), CE)
