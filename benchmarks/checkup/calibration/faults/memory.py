"""Models that need more memory than there is."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from benchmarks.checkup import data
from benchmarks.checkup.base_models import RNN, WIDTH, Decoder
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
MEMORY = "memory_is_bounded"
CE = nn.CrossEntropyLoss()


@cases.fault(MEMORY, "mlp, all pairs of 1,000 units for 8,192 samples")
def _() -> Inputs:
    def pairs(net: Any, x: Tensor) -> Any:
        hidden = net.first(x)
        apart = (hidden[:, :, None] - hidden[:, None, :]).square().exp().mean(2)
        return net.last(apart)

    model = Net(pairs, first=nn.Linear(8, 1000), last=nn.Linear(1000, 3))
    return Inputs(model, data.table(8192), CE)


@cases.fault(MEMORY, "transformer, 512 tokens in 16,384 samples")
def _() -> Inputs:
    model = Decoder()
    model.places = nn.Embedding(512, WIDTH)
    return Inputs(model, data.language(16384, 512), data.next_token)


@cases.fault(MEMORY, "rnn, every pass is kept with its graph")
def _() -> Inputs:
    class Keeps(RNN):
        def __init__(self) -> None:
            super().__init__()
            self.past: list[Tensor] = []

        def last(self, states: Tensor) -> Tensor:
            self.past.append(states[:, -1])
            return self.past[-1]

    return Inputs(Keeps(), data.series(), CE)


@cases.fault(MEMORY, "cnn, nothing is made smaller for 4,096 images")
def _() -> Inputs:
    def step() -> list[nn.Module]:
        return [nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.BatchNorm2d(64), nn.SiLU()]

    layers = [layer for _ in range(12) for layer in step()]
    model = nn.Sequential(
        nn.Conv2d(3, 64, 1), *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 4)
    )
    images, labels = data.images(4, 3, 64)
    return Inputs(model, (images.repeat(1024, 1, 1, 1), labels.repeat(1024)), CE)
