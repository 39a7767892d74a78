"""Models that take more memory than there is."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from benchmarks.checkup import data
from benchmarks.checkup.nets import RNN, WIDTH, Decoder
from benchmarks.checkup.plant import Given, Net, Plants

plants = Plants()
MEMORY = "memory_is_bounded"
CE = nn.CrossEntropyLoss()


@plants.fault(MEMORY, "mlp, all pairs of 1,000 units for 8,192 samples")
def _() -> Given:
    def pairs(net: Any, x: Tensor) -> Any:
        hidden = net.first(x)
        apart = (hidden[:, :, None] - hidden[:, None, :]).square().exp().mean(2)
        return net.last(apart)

    model = Net(pairs, first=nn.Linear(8, 1000), last=nn.Linear(1000, 3))
    return Given(model, data.table(8192), CE)


@plants.fault(MEMORY, "transformer, 512 tokens in 16,384 samples")
def _() -> Given:
    model = Decoder()
    model.places = nn.Embedding(512, WIDTH)
    return Given(model, data.language(16384, 512), data.next_token)


@plants.fault(MEMORY, "rnn, every pass is kept with its graph")
def _() -> Given:
    class Keeps(RNN):
        def __init__(self) -> None:
            super().__init__()
            self.past: list[Tensor] = []

        def last(self, states: Tensor) -> Tensor:
            self.past.append(states[:, -1])
            return self.past[-1]

    return Given(Keeps(), data.series(), CE)


@plants.fault(MEMORY, "cnn, nothing is made smaller for 4,096 images")
def _() -> Given:
    def step() -> list[nn.Module]:
        return [nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.BatchNorm2d(64), nn.SiLU()]

    layers = [layer for _ in range(12) for layer in step()]
    model = nn.Sequential(
        nn.Conv2d(3, 64, 1), *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 4)
    )
    images, labels = data.images(4, 3, 64)
    return Given(model, (images.repeat(1024, 1, 1, 1), labels.repeat(1024)), CE)
