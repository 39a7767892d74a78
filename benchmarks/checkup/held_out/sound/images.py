"""Sound models of images and signals with other layers and tasks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList("reporting")
CE, MSE, BCE = nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCEWithLogitsLoss()


def conv(inputs: int, outputs: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1)


def mean(width: int, outputs: int = 4) -> nn.Sequential:
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, outputs))


@cases.sound("strided convolutions, leaky ReLU, no norms")
def _() -> Inputs:
    model = nn.Sequential(
        conv(1, 16, 2), nn.LeakyReLU(0.1), conv(16, 32, 2), nn.LeakyReLU(0.1), mean(32)
    )
    return Inputs(model, data.images(), CE, torch.optim.Adam(model.parameters(), lr=2e-3))


@cases.sound("resnet, norms before convolutions")
def _() -> Inputs:
    def run(net: Any, x: Tensor) -> Any:
        x = net.stem(x)
        x = x + net.one(x)
        return net.head(x + net.two(x))

    def step() -> nn.Module:
        return nn.Sequential(nn.BatchNorm2d(16), nn.ReLU(), conv(16, 16))

    model = Net(run, stem=conv(3, 16), one=step(), two=step(), head=mean(16))
    return Inputs(model, data.images(channels=3), CE)


@cases.sound("the highest value of each channel")
def _() -> Inputs:
    model = nn.Sequential(
        conv(1, 24), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(24, 4)
    )
    return Inputs(model, data.images(), CE)


@cases.sound("convolutions only, down to the classes")
def _() -> Inputs:
    model = nn.Sequential(
        conv(1, 16, 2), nn.ELU(), conv(16, 16), nn.ELU(), nn.Conv2d(16, 4, 1),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    )  # fmt: skip
    return Inputs(model, data.images(), CE)


@cases.sound("resnext, convolutions in groups")
def _() -> Inputs:
    def run(net: Any, x: Tensor) -> Any:
        x = net.stem(x).relu()
        return net.head((x + net.body(x)).relu())

    body = nn.Sequential(
        nn.Conv2d(32, 16, 1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1, groups=4), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 1),
    )  # fmt: skip
    return Inputs(Net(run, stem=conv(1, 32), body=body, head=mean(32)), data.images(), CE)


@cases.sound("pixels are weighed by a gate")
def _() -> Inputs:
    def run(net: Any, x: Tensor) -> Any:
        x = net.body(x).relu()
        return net.head(x * net.gate(x).sigmoid())

    model = Net(run, body=conv(1, 16), gate=nn.Conv2d(16, 1, 5, padding=2), head=mean(16))
    return Inputs(model, data.images(), CE)


@cases.sound("coordinates as further channels, two values")
def _() -> Inputs:
    def run(net: Any, x: Tensor) -> Any:
        line = torch.linspace(-1, 1, x.shape[-1])
        across, down = line.expand_as(x), line[:, None].expand_as(x)
        return net.head(net.body(torch.cat([x, across, down], 1)).relu())

    images, _ = data.images()
    targets = torch.stack([images[..., :6].mean((1, 2, 3)), images[..., 6:].mean((1, 2, 3))], 1)
    return Inputs(Net(run, body=conv(3, 24), head=mean(24, 2)), (images, 3 * targets), MSE)


@cases.sound("noise is told and taken off")
def _() -> Inputs:
    clean = data.pictures()
    body = nn.Sequential(conv(1, 24), nn.ReLU(), conv(24, 24), nn.ReLU(), conv(24, 1))
    model = Net(lambda net, x: x - net.body(x), body=body)
    return Inputs(model, (clean + 0.1 * torch.randn_like(clean), clean), MSE)


@cases.sound("two scales are added up, a class for each pixel")
def _() -> Inputs:
    def run(net: Any, x: Tensor) -> Any:
        near = net.near(x).relu()
        far = net.far(near).relu()
        return net.head(net.side(near) + F.interpolate(far, scale_factor=2.0))

    images, _ = data.images(16, 3)
    model = Net(
        run, near=conv(3, 16), far=conv(16, 24, 2), side=nn.Conv2d(16, 24, 1), head=conv(24, 3)
    )
    return Inputs(model, (images, F.avg_pool2d(images, 3, 1, 1).argmax(1)), CE)


@cases.sound("are two images of one class")
def _() -> Inputs:
    def run(net: Any, one: Tensor, other: Tensor) -> Any:
        return net.head((net.body(one) - net.body(other)).abs())

    images, labels = data.images(64)
    body = nn.Sequential(conv(1, 16, 2), nn.ReLU(), mean(16, 16))
    other = torch.randperm(64)
    same = (labels == labels[other]).float()[:, None]
    model = Net(run, body=body, head=nn.Linear(16, 1))
    return Inputs(model, ((images, images[other]), same), BCE)


@cases.sound("three answers for a signal")
def _() -> Inputs:
    waves, labels = data.series(48, 24)
    model = nn.Sequential(
        nn.Conv1d(4, 16, 5, padding=2), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2),
        nn.Conv1d(16, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(),
        nn.Linear(16, 3),
    )  # fmt: skip
    answers = torch.stack([labels == 0, labels > 0, labels == 2], 1).float()
    return Inputs(model, (waves.transpose(1, 2).contiguous(), answers), BCE)


@cases.sound("depth of each pixel, always positive")
def _() -> Inputs:
    images, _ = data.images(16, 3)
    model = nn.Sequential(conv(3, 24), nn.ReLU(), conv(24, 1), nn.Softplus())
    return Inputs(model, (images, 0.2 + F.softplus(images.mean(1, keepdim=True))), nn.L1Loss())


@cases.sound("how far one image is moved against another")
def _() -> Inputs:
    images, _ = data.images()
    steps = torch.randint(-2, 3, (32,))
    moved = torch.stack([x.roll(int(by), -1) for x, by in zip(images, steps, strict=True)])
    model = nn.Sequential(conv(2, 24), nn.ReLU(), conv(24, 24, 2), nn.ReLU(), mean(24, 1))
    targets = steps[:, None].float() / 2
    return Inputs(model, (torch.cat([images, moved], 1), targets), nn.SmoothL1Loss())


@cases.sound("autoencoder of images, pooled and made larger again")
def _() -> Inputs:
    images = data.pictures(channels=3)
    model = nn.Sequential(
        conv(3, 16), nn.SiLU(), nn.AvgPool2d(2), conv(16, 8), nn.SiLU(),
        nn.Upsample(scale_factor=2, mode="bilinear"), conv(8, 3), nn.Sigmoid(),
    )  # fmt: skip
    return Inputs(model, (images, images), nn.BCELoss())


@cases.sound("three scales, one head listed for each")
def _() -> Inputs:
    class Scales(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.levels = nn.ModuleList([conv(1, 16), conv(16, 16, 2), conv(16, 16, 2)])
            self.heads = nn.ModuleList([mean(16)] * 3)

        def forward(self, x: Tensor) -> Any:
            found = []
            for level, head in zip(self.levels, self.heads, strict=True):
                x = level(x).relu()
                found.append(head(x))
            return torch.stack(found).mean(0)

    return Inputs(Scales(), data.images(), CE)
