"""More sound models of images: other blocks, tasks and losses."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import WIDTH, Attention, Block
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
CE, MSE = nn.CrossEntropyLoss(), nn.MSELoss()


def pool(width: int, outputs: int = 4) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, outputs)]


class Around(nn.Module):
    """A skip connection around some layers."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Any:
        return x + self.layers(x)


@cases.sound("resnet of bottlenecks, group norm")
def _() -> Inputs:
    def bottleneck() -> nn.Module:
        return Around(
            nn.GroupNorm(4, 32), nn.ReLU(), nn.Conv2d(32, 8, 1), nn.ReLU(),
            nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 32, 1),
        )  # fmt: skip

    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, stride=2, padding=1), bottleneck(), bottleneck(), *pool(32)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    return Inputs(model, data.images(channels=3, side=16), CE, optimizer)


@cases.sound("convmixer")
def _() -> Inputs:
    def mixer() -> list[nn.Module]:
        across = Around(nn.Conv2d(24, 24, 3, padding=1, groups=24), nn.GELU(), nn.BatchNorm2d(24))
        return [across, nn.Conv2d(24, 24, 1), nn.GELU(), nn.BatchNorm2d(24)]

    model = nn.Sequential(nn.Conv2d(1, 24, 2, stride=2), nn.GELU(), *mixer(), *mixer(), *pool(24))
    return Inputs(model, data.images(), CE)


@cases.sound("branches that are left out at random in training")
def _() -> Inputs:
    class Chance(Around):
        def forward(self, x: Tensor) -> Any:
            if not self.training:
                return x + 0.8 * self.layers(x)
            return x + self.layers(x) * (torch.rand(len(x), 1, 1, 1) < 0.8)

    def step() -> nn.Module:
        return Chance(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.SiLU())

    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), step(), step(), *pool(16))
    return Inputs(model, data.images(), CE)


@cases.sound("shufflenet, groups that are mixed")
def _() -> Inputs:
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 16, 1, groups=4), nn.BatchNorm2d(16), nn.ReLU(), nn.ChannelShuffle(4),
        nn.Conv2d(16, 16, 1, groups=4), nn.BatchNorm2d(16), nn.ReLU(), *pool(16),
    )  # fmt: skip
    return Inputs(model, data.images(), CE)


@cases.sound("larger images by pixel shuffle")
def _() -> Inputs:
    model = nn.Sequential(
        nn.Conv2d(3, 24, 3, padding=1), nn.PReLU(),
        nn.Conv2d(24, 12, 3, padding=1), nn.PixelShuffle(2),
    )  # fmt: skip
    large = data.pictures(channels=3, side=16)
    return Inputs(model, (F.avg_pool2d(large, 2), large), nn.L1Loss())


@cases.sound("u-net, dice and cross-entropy")
def _() -> Inputs:
    def run(net: Any, x: Tensor) -> Any:
        near = net.near(x).relu()
        far = net.far(F.max_pool2d(near, 2)).relu()
        wide = F.interpolate(far, scale_factor=2, mode="bilinear", align_corners=False)
        return net.head(torch.cat([near, wide], 1))

    def judged(outputs: Tensor, masks: Tensor) -> Tensor:
        share = outputs.sigmoid()
        dice = 1 - (2 * (share * masks).sum() + 1) / (share.sum() + masks.sum() + 1)
        return dice + F.binary_cross_entropy_with_logits(outputs, masks)

    model = Net(
        run,
        near=nn.Conv2d(1, 16, 3, padding=1),
        far=nn.Conv2d(16, 32, 3, padding=1),
        head=nn.Conv2d(48, 1, 1),
    )
    images, _ = data.images(16)
    return Inputs(model, (images, (F.avg_pool2d(images, 3, 1, 1) > 0).float()), judged)


@cases.sound("classes of pixels, 255 where none is known")
def _() -> Inputs:
    images, _ = data.images(16, 3)
    masks = images.argmax(1).masked_fill(torch.rand(16, 12, 12) < 0.1, 255)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=2, dilation=2), nn.ReLU(), nn.Conv2d(16, 3, 1),
    )  # fmt: skip
    return Inputs(model, (images, masks), nn.CrossEntropyLoss(ignore_index=255))


@cases.sound("a point in the image, soft argmax")
def _() -> Inputs:
    def point(net: Any, x: Tensor) -> Any:
        heat = net.body(x).flatten(2).softmax(-1).unflatten(2, (12, 12))
        line = torch.linspace(-1, 1, 12)
        return torch.cat([(heat.sum(2) * line).sum(-1), (heat.sum(3) * line).sum(-1)], 1)

    body = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 1))
    images = 0.1 * torch.randn(32, 1, 12, 12)
    across, down = torch.randint(12, (32,)), torch.randint(12, (32,))
    images[torch.arange(32), 0, down, across] += 5
    targets = torch.stack([across, down], 1) / 5.5 - 1
    return Inputs(Net(point, body=body), (images, targets), MSE)


@cases.sound("bytes that the model scales itself")
def _() -> Inputs:
    images, labels = data.images(channels=3)
    body = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), *pool(16))
    model = Net(lambda net, x: net.body(x.float() / 127.5 - 1), body=body)
    return Inputs(model, ((255 * images.sigmoid()).to(torch.uint8), labels), CE)


@cases.sound("a spatial transformer")
def _() -> Inputs:
    class Looks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.where = nn.Sequential(nn.Flatten(), nn.Linear(144, 16), nn.ReLU())
            self.turn = nn.Linear(16, 6)
            nn.init.zeros_(self.turn.weight)
            with torch.no_grad():
                self.turn.bias.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))
            self.body = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), *pool(16))

        def forward(self, x: Tensor) -> Any:
            grid = F.affine_grid(
                self.turn(self.where(x)).view(-1, 2, 3), list(x.shape), align_corners=False
            )
            return self.body(F.grid_sample(x, grid, align_corners=False))

    return Inputs(Looks(), data.images(), CE)


@cases.sound("vit, the mean of its patches, torch's blocks")
def _() -> Inputs:
    class Mean(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patch = nn.Conv2d(3, WIDTH, 4, stride=4)
            self.places = nn.Parameter(0.02 * torch.randn(1, WIDTH, 4, 4))
            layer = nn.TransformerEncoderLayer(
                WIDTH, 4, 64, dropout=0.1, activation="gelu", batch_first=True, norm_first=True
            )
            self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4))

        def forward(self, x: Tensor) -> Any:
            patches = (self.patch(x) + self.places).flatten(2).transpose(1, 2)
            return self.head(self.blocks(patches).mean(1))

    return Inputs(Mean(), data.images(channels=3, side=16), CE)


@cases.sound("convolutions, then attention over pixels")
def _() -> Inputs:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(
                nn.Conv2d(1, WIDTH, 3, stride=2, padding=1), nn.BatchNorm2d(WIDTH), nn.ReLU(),
                nn.Conv2d(WIDTH, WIDTH, 3, stride=2, padding=1), nn.ReLU(),
            )  # fmt: skip
            self.places = nn.Parameter(0.02 * torch.randn(1, 9, WIDTH))
            self.block, self.head = Block(Attention()), nn.Linear(WIDTH, 4)

        def forward(self, x: Tensor) -> Any:
            pixels = self.stem(x).flatten(2).transpose(1, 2) + self.places
            return self.head(self.block(pixels).mean(1))

    return Inputs(Mixed(), data.images(), CE)


@cases.sound("boxes and classes, an own loss")
def _() -> Inputs:
    def both(net: Any, x: Tensor) -> Any:
        hidden = net.body(x)
        return net.kind(hidden), net.box(hidden).sigmoid()

    def judged(outputs: tuple[Tensor, Tensor], targets: tuple[Tensor, Tensor]) -> Tensor:
        return F.cross_entropy(outputs[0], targets[0]) + F.smooth_l1_loss(outputs[1], targets[1])

    body = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(576, 32), nn.ReLU(),
    )  # fmt: skip
    images, labels = data.images()
    model = Net(both, body=body, kind=nn.Linear(32, 4), box=nn.Linear(32, 4))
    return Inputs(model, (images, (labels, torch.rand(32, 4))), judged)
