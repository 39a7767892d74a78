"""Sound models of images, audio and volumes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import Patches, cnn, mlp
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
CE = nn.CrossEntropyLoss()


def conv(inputs: int, outputs: int, stride: int = 1, size: int = 3, **more: Any) -> nn.Sequential:
    """Return a convolution, its batch norm and a ReLU."""
    layer = nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False, **more)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs), nn.ReLU())


def pooled(body: nn.Module, channels: int, classes: int = 4) -> nn.Sequential:
    return nn.Sequential(body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


class Residual(nn.Module):
    """Two convolutions with a skip connection. The last norm may start at zero."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1, zero: bool = False) -> None:
        super().__init__()
        last = nn.BatchNorm2d(outputs)
        if zero:
            nn.init.zeros_(last.weight)
        self.body = nn.Sequential(
            conv(inputs, outputs, stride), nn.Conv2d(outputs, outputs, 3, padding=1), last
        )
        same = inputs == outputs and stride == 1
        self.way = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Any:
        return F.relu(self.way(x) + self.body(x))


def resnet(zero: bool = False) -> nn.Sequential:
    blocks = [Residual(16, 16, zero=zero), Residual(16, 32, 2, zero), Residual(32, 32, zero=zero)]
    return pooled(nn.Sequential(conv(3, 16), *blocks), 32)


def coloured(model: nn.Module, rate: float | None = None, side: int = 16) -> Inputs:
    optimizer = None if rate is None else torch.optim.AdamW(model.parameters(), lr=rate)
    return Inputs(model, data.images(32, 3, side), CE, optimizer)


cases.sound("cnn")(lambda: Inputs(cnn(), data.images(), CE))
cases.sound("cnn, no batch is given")(lambda: Inputs(pooled(conv(3, 16), 16)))
cases.sound("resnet")(lambda: coloured(resnet(), 1e-3))
cases.sound("resnet, residuals start at zero")(lambda: coloured(resnet(zero=True)))
cases.sound("patches, a small ViT")(lambda: Inputs(Patches(), data.images(), CE))


@cases.sound("densenet")
def _() -> Inputs:
    class Dense(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.steps = nn.ModuleList(conv(3 + 8 * place, 8) for place in range(4))
            self.head = nn.Linear(35, 4)

        def forward(self, x: Tensor) -> Any:
            for step in self.steps:
                x = torch.cat([x, step(x)], 1)
            return self.head(x.mean((2, 3)))

    return coloured(Dense())


@cases.sound("vgg with dropout")
def _() -> Inputs:
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(512, 64), nn.ReLU(), nn.Dropout(), nn.Linear(64, 4),
    )  # fmt: skip
    return coloured(model, 1e-3)


@cases.sound("mobilenet, depthwise and SiLU")
def _() -> Inputs:
    def step(inputs: int, outputs: int) -> nn.Sequential:
        depthwise = nn.Conv2d(inputs, inputs, 3, padding=1, groups=inputs, bias=False)
        return nn.Sequential(
            depthwise, nn.BatchNorm2d(inputs), nn.SiLU(),
            nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs), nn.SiLU(),
        )  # fmt: skip

    return coloured(pooled(nn.Sequential(conv(3, 16, 2), step(16, 24), step(24, 32)), 32))


@cases.sound("squeeze and excite")
def _() -> Inputs:
    gate = nn.Sequential(
        nn.AdaptiveAvgPool2d(1), nn.Conv2d(16, 4, 1), nn.ReLU(), nn.Conv2d(4, 16, 1), nn.Sigmoid()
    )
    body = Net(lambda net, x: (x := net.first(x)) * net.gate(x), first=conv(3, 16), gate=gate)
    return coloured(pooled(body, 16))


@cases.sound("inception")
def _() -> Inputs:
    branches = [conv(3, 8, size=size) for size in (1, 3, 5)]
    pool = nn.Sequential(nn.AvgPool2d(3, 1, 1), conv(3, 8, size=1))
    body = Net(
        lambda net, x: torch.cat([branch(x) for branch in net.branches], 1),
        branches=nn.ModuleList([*branches, pool]),
    )
    return coloured(pooled(body, 32))


@cases.sound("convnext, group norm and layer scale")
def _() -> Inputs:
    class Step(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(width, width, 7, padding=3, groups=width), nn.GroupNorm(1, width),
                nn.Conv2d(width, 4 * width, 1), nn.GELU(), nn.Conv2d(4 * width, width, 1),
            )  # fmt: skip
            self.scale = nn.Parameter(torch.full((width, 1, 1), 1e-6))

        def forward(self, x: Tensor) -> Any:
            return x + self.scale * self.body(x)

    body = nn.Sequential(nn.Conv2d(3, 24, 4, 4), nn.GroupNorm(1, 24), Step(24), Step(24))
    return coloured(pooled(body, 24))


@cases.sound("mlp-mixer")
def _() -> Inputs:
    class Mix(nn.Module):
        def __init__(self, places: int, width: int) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.across, self.along = mlp(places, places, 32), mlp(width, width, 64)

        def forward(self, x: Tensor) -> Any:
            x = x + self.across(self.norm1(x).transpose(1, 2)).transpose(1, 2)
            return x + self.along(self.norm2(x))

    model = Net(
        lambda net, x: net.head(net.mixed(net.patch(x).flatten(2).transpose(1, 2)).mean(1)),
        patch=nn.Conv2d(3, 32, 4, 4),
        mixed=nn.Sequential(Mix(16, 32), Mix(16, 32), nn.LayerNorm(32)),
        head=nn.Linear(32, 4),
    )
    return coloured(model)


class UNet(nn.Module):
    """A small U-Net."""

    def __init__(self, outputs: int = 3) -> None:
        super().__init__()
        self.down, self.deep = conv(1, 16), conv(16, 32)
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.join, self.head = conv(32, 16), nn.Conv2d(16, outputs, 1)

    def forward(self, x: Tensor) -> Any:
        first = self.down(x)
        up = self.up(self.deep(F.max_pool2d(first, 2)))
        return self.head(self.join(torch.cat([first, up], 1)))


@cases.sound("u-net, a class for each pixel")
def _() -> Inputs:
    images = data.images()[0]
    labels = torch.bucketize(images[:, 0], torch.tensor([-0.5, 0.5]))
    return Inputs(UNet(), (images, labels), CE)


@cases.sound("u-net, a mask of yes or no")
def _() -> Inputs:
    images = data.images()[0]
    return Inputs(UNet(1), (images, (images > 0.3).float()), nn.BCEWithLogitsLoss())


@cases.sound("convolutions of sounds")
def _() -> Inputs:
    model = nn.Sequential(
        nn.Conv1d(4, 32, 5, stride=2, padding=2), nn.BatchNorm1d(32), nn.LeakyReLU(0.1),
        nn.Conv1d(32, 32, 3, padding=1), nn.LeakyReLU(0.1), nn.AdaptiveMaxPool1d(1), nn.Flatten(),
        nn.Linear(32, 3),
    )  # fmt: skip
    waves, labels = data.series(length=40)
    return Inputs(model, (waves.transpose(1, 2), labels), CE)


@cases.sound("convolutions of volumes, instance norm")
def _() -> Inputs:
    model = nn.Sequential(
        nn.Conv3d(1, 8, 3, padding=1), nn.InstanceNorm3d(8, affine=True), nn.ReLU(),
        nn.MaxPool3d(2), nn.Conv3d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool3d(1),
        nn.Flatten(), nn.Linear(16, 4),
    )  # fmt: skip
    images, labels = data.images(16, 8, 8)
    return Inputs(model, (images[:, None], labels), CE)
