"""Samples that are mixed, optimizers of something else, and what saving leaves out."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.checkup import data
from benchmarks.checkup.nets import RNN, WIDTH, Attention, Autoencoder, Decoder, Encoder, cnn, mlp
from benchmarks.checkup.plant import Given, Net, Plants

plants = Plants()
APART, HOLDS, SAVING = "samples_stay_apart", "optimizer_holds_every_parameter", "survives_saving"
CE = nn.CrossEntropyLoss()


@plants.fault(APART, "rnn, batch_first forgotten")
def _() -> Given:
    model = RNN()
    model.rnn = nn.LSTM(4, WIDTH)
    return Given(model, data.series(), CE)


@plants.fault(APART, "torch's encoder, batch_first forgotten")
def _() -> Given:
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0)
    model = Net(
        lambda net, x: net.head(net.encoder(net.first(x)).mean(1)),
        first=nn.Linear(4, WIDTH),
        encoder=nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
        head=nn.Linear(WIDTH, 3),
    )
    return Given(model, data.series(), CE)


@plants.fault(APART, "cnn, view where transpose is meant")
def _() -> Given:
    def mixed(net: Any, x: Tensor) -> Any:
        samples, length, width = x.shape
        turned = x.permute(1, 0, 2).reshape(samples, width, length)
        return net.head(net.conv(turned).relu().mean(-1))

    model = Net(mixed, conv=nn.Conv1d(4, WIDTH, 3, padding=1), head=nn.Linear(WIDTH, 3))
    return Given(model, data.series(), CE)


@plants.fault(APART, "mlp, softmax over the batch")
def _() -> Given:
    model = Net(
        lambda net, x: net.last(net.first(x).softmax(0)),
        first=nn.Linear(8, 32),
        last=nn.Linear(32, 3),
    )
    return Given(model, data.table(), CE)


@plants.fault(APART, "mlp, batch norm without running statistics")
def _() -> Given:
    norm = nn.BatchNorm1d(32, track_running_stats=False)
    model = nn.Sequential(nn.Linear(8, 32), norm, nn.ReLU(), nn.Linear(32, 3))
    return Given(model, data.table(), CE)


@plants.fault(APART, "transformer, attention over the samples")
def _() -> Given:
    class Across(Attention):
        def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
            return super().forward(x.transpose(0, 1), mask).transpose(0, 1)

    return Given(Encoder(Across), data.text(), CE)


@plants.fault(APART, "autoencoder, centred by the batch")
def _() -> Given:
    class Centred(Autoencoder):
        def bottleneck(self, code: Tensor) -> Tensor:
            return code - code.mean(0)

    rows = data.table()[0]
    return Given(Centred(), (rows, rows), nn.MSELoss())


@plants.fault(HOLDS, "mlp, the first layer is left out")
def _() -> Given:
    model = mlp()
    return Given(model, data.table(), CE, torch.optim.Adam(model[2:].parameters()))


@plants.fault(HOLDS, "cnn, of a copy")
def _() -> Given:
    model = cnn()
    optimizer = torch.optim.SGD(copy.deepcopy(model).parameters(), lr=0.1)
    return Given(model, data.images(), CE, optimizer)


@plants.fault(HOLDS, "rnn, the head was replaced afterwards")
def _() -> Given:
    model = RNN(outputs=5)
    optimizer = torch.optim.AdamW(model.parameters())
    model.head = nn.Linear(WIDTH, 3)
    return Given(model, data.series(), CE, optimizer)


@plants.fault(HOLDS, "transformer, the head is there twice")
def _() -> Given:
    model = Decoder()
    optimizer = torch.optim.AdamW([*model.parameters(), *model.head.parameters()])
    return Given(model, data.language(), data.next_token, optimizer)


@plants.fault(HOLDS, "autoencoder, the encoder only")
def _() -> Given:
    model = Autoencoder()
    rows = data.table()[0]
    optimizer = torch.optim.Adam(model.encoder.parameters())
    return Given(model, (rows, rows), nn.MSELoss(), optimizer)


@plants.fault(SAVING, "mlp, the layers are in a plain list")
def _() -> Given:
    class Listed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(8, 32), nn.Linear(32, 32)]
            self.last = nn.Linear(32, 3)

        def forward(self, x: Tensor) -> Any:
            for layer in self.layers:
                x = layer(x).relu()
            return self.last(x)

    return Given(Listed(), data.table(), CE)


@plants.fault(SAVING, "cnn, a plain tensor that is trained")
def _() -> Given:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.scale = cnn(), torch.full((4,), 1.5, requires_grad=True)

        def forward(self, x: Tensor) -> Any:
            return self.body(x) * self.scale

    return Given(Scaled(), data.images(), CE)


@plants.fault(SAVING, "rnn, state_dict leaves the head out")
def _() -> Given:
    class Partial(RNN):
        def state_dict(self, *args: Any, **kwargs: Any) -> Any:
            kept = super().state_dict(*args, **kwargs)
            return {name: each for name, each in kept.items() if "head" not in name}

        def load_state_dict(
            self, state_dict: Any, strict: bool = True, assign: bool = False
        ) -> Any:
            del strict
            return super().load_state_dict(state_dict, strict=False, assign=assign)

    return Given(Partial(), data.series(), CE)


@plants.fault(SAVING, "autoencoder, random features that are not kept")
def _() -> Given:
    class Projected(Autoencoder):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("turn", torch.randn(4, 4), persistent=False)

        def bottleneck(self, code: Tensor) -> Tensor:
            return code @ self.get_buffer("turn")

    rows = data.table()[0]
    return Given(Projected(), (rows, rows), nn.MSELoss())


@plants.fault(SAVING, "transformer, a plain tensor of places that is trained")
def _() -> Given:
    class Loose(Encoder):
        def __init__(self) -> None:
            super().__init__()
            self.loose = torch.randn(data.LENGTH, WIDTH).requires_grad_()

        def embedded(self, tokens: Tensor) -> Tensor:
            return super().embedded(tokens) + self.loose[: tokens.shape[1]]

    return Given(Loose(), data.text(), CE)
