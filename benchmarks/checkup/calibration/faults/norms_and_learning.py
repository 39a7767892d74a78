"""Norms that do not normalise, bad initial losses, and models that cannot learn."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import RNN, WIDTH, Autoencoder, Decoder, Encoder, cnn, mlp
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
NORMS, CHANCE, OVERFITS = "normalisation_normalises", "starts_at_chance", "overfits_one_batch"
RATE = "learning_rate_is_sane"
CE = nn.CrossEntropyLoss()


@cases.fault(NORMS, "cnn, batch norm with a momentum of 0")
def _() -> Inputs:
    model = cnn()
    for place in (1, 5):
        model[place].momentum = 0.0  # type: ignore[assignment]
    return Inputs(model, data.images(), CE)


@cases.fault(NORMS, "mlp, a layer norm over one value")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.last(net.norm(net.first(x)[..., None])[..., 0].relu()),
        first=nn.Linear(8, 32),
        norm=nn.LayerNorm(1),
        last=nn.Linear(32, 3),
    )
    return Inputs(model, data.table(), CE)


class Frozen(nn.Module):
    """A batch norm that stays in evaluation mode with its initial statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.body = cnn()
        self.train()

    def train(self, mode: bool = True) -> Frozen:
        super().train(mode)
        for each in self.modules():
            if isinstance(each, nn.BatchNorm2d):
                each.eval()
        return self

    def forward(self, x: Tensor) -> Any:
        return self.body(x)


cases.add(NORMS, "cnn, batch norms never train", lambda: Inputs(Frozen(), data.images(), CE))


@cases.fault(NORMS, "cnn, a group for each channel of one pixel")
def _() -> Inputs:
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.GroupNorm(16, 16),
        nn.Flatten(), nn.Linear(16, 4),
    )  # fmt: skip
    return Inputs(model, data.images(), CE)


class LayerNorm(nn.Module):
    """A custom layer norm that divides by a hundredth of the deviation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return centred / (0.01 * x.std(-1, keepdim=True) + 1e-5) * self.weight + self.bias


class RMSNorm(nn.Module):
    """A custom RMS norm that does not divide."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return x * (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * self.weight


def normed(norm: nn.Module) -> Inputs:
    model = nn.Sequential(nn.Linear(8, 32), norm, nn.ReLU(), nn.Linear(32, 3))
    return Inputs(model, data.table(), CE)


cases.add(
    NORMS, "mlp, an own layer norm is a hundred times too large", lambda: normed(LayerNorm(32))
)
cases.add(NORMS, "mlp, an own RMS norm multiplies", lambda: normed(RMSNorm(32)))


@cases.fault(NORMS, "transformer, an epsilon of 100")
def _() -> Inputs:
    model = Decoder()
    for each in model.modules():
        if isinstance(each, nn.LayerNorm):
            each.eps = 100.0
    return Inputs(model, data.language(), data.next_token)


def scaled(model: nn.Module, layer: str, factor: float) -> nn.Module:
    with torch.no_grad():
        model.get_parameter(f"{layer}.weight").mul_(factor)
    return model


cases.add(
    CHANCE,
    "mlp, the last layer times 100",
    lambda: Inputs(scaled(mlp(), "4", 100), data.table(), CE),
)


@cases.fault(CHANCE, "cnn, a bias of 20 for one class")
def _() -> Inputs:
    model = cnn()
    with torch.no_grad():
        model.get_parameter("9.bias")[0] = 20.0
    return Inputs(model, data.images(), CE)


cases.add(
    CHANCE,
    "rnn, the last layer times 300",
    lambda: Inputs(scaled(RNN(), "head", 300), data.series(), CE),
)


@cases.fault(CHANCE, "transformer, logits without a scale")
def _() -> Inputs:
    model = Decoder()
    nn.init.normal_(model.head.weight, std=3.0)
    return Inputs(model, data.language(), data.next_token)


@cases.fault(CHANCE, "mlp, the answer is among the inputs and passed on")
def _() -> Inputs:
    rows, labels = data.table()
    told = torch.cat([rows, F.one_hot(labels, 3).float()], 1)
    model = Net(lambda net, x: net.body(x) + 8 * x[:, -3:], body=mlp(11))
    return Inputs(model, (told, labels), CE)


@cases.fault(CHANCE, "cnn, one answer is certain from the start")
def _() -> Inputs:
    images, labels = data.images(classes=2)
    model = Net(lambda net, x: net.body(x) + 30, body=cnn(outputs=1))
    return Inputs(model, (images, labels[:, None].float()), nn.BCEWithLogitsLoss())


@cases.fault(OVERFITS, "mlp, all frozen")
def _() -> Inputs:
    return Inputs(mlp().requires_grad_(False), data.table(), CE)


cases.add(
    OVERFITS,
    "cnn, the sign of the loss",
    lambda: Inputs(cnn(), data.images(), lambda outputs, labels: -F.cross_entropy(outputs, labels)),
)


@cases.fault(OVERFITS, "rnn, the inputs are multiplied by 0")
def _() -> Inputs:
    class Deaf(RNN):
        def forward(self, x: Tensor) -> Any:
            return super().forward(x * 0)

    return Inputs(Deaf(), data.series(), CE)


@cases.fault(OVERFITS, "transformer, every token is read as 0")
def _() -> Inputs:
    class Flat(Encoder):
        def embedded(self, tokens: Tensor) -> Tensor:
            return super().embedded(torch.zeros_like(tokens))

    return Inputs(Flat(), data.text(), CE)


@cases.fault(OVERFITS, "autoencoder, nothing passes the bottleneck")
def _() -> Inputs:
    class Closed(Autoencoder):
        def bottleneck(self, code: Tensor) -> Tensor:
            return (code - 1e4).relu() + 0 * code

    rows = data.table()[0]
    return Inputs(Closed(), (rows, rows), nn.MSELoss())


@cases.fault(OVERFITS, "mlp, only the last bias can be trained")
def _() -> Inputs:
    model = mlp()
    for name, each in model.named_parameters():
        each.requires_grad_(name == "4.bias")
    return Inputs(model, data.table(), CE)


@cases.fault(OVERFITS, "cnn, the mean of images whose mean was taken off")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head((x - x.mean((1, 2, 3), keepdim=True)).mean((2, 3))),
        head=nn.Sequential(nn.Linear(1, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 4)),
    )
    return Inputs(model, data.images(), CE)


def rated(model: nn.Module, kind: type[torch.optim.Optimizer], rate: float) -> Inputs:
    optimizer = kind(model.parameters(), lr=rate)  # type: ignore[call-arg]
    return Inputs(model, data.table(), CE, optimizer)


cases.add(RATE, "mlp, SGD at 10", lambda: rated(mlp(), torch.optim.SGD, 10.0))
cases.add(RATE, "mlp, Adam at 1", lambda: rated(mlp(), torch.optim.Adam, 1.0))
cases.add(RATE, "mlp, SGD at 1e-9", lambda: rated(mlp(), torch.optim.SGD, 1e-9))


@cases.fault(RATE, "transformer, AdamW at 1e-10")
def _() -> Inputs:
    model = Decoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-10)
    return Inputs(model, data.language(), data.next_token, optimizer)


@cases.fault(RATE, "cnn, SGD with momentum at 30")
def _() -> Inputs:
    model = cnn()
    optimizer = torch.optim.SGD(model.parameters(), lr=30, momentum=0.9)
    return Inputs(model, data.images(), CE, optimizer)
