"""Models that take more memory than there is."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.checkup import data
from benchmarks.checkup.nets import RNN, Attention, Encoder, Patches, mlp
from benchmarks.checkup.plant import Given, Plants

plants = Plants()
MEMORY = "memory_is_bounded"
CE = nn.CrossEntropyLoss()


@plants.fault(MEMORY, "patches of one pixel for 2,048 images")
def _() -> Given:
    return Given(Patches(side=32, patch=1), data.images(2048, side=32), CE)


@plants.fault(MEMORY, "transformer, the weights of all passes are kept for a plot")
def _() -> Given:
    class Plotted(Attention):
        def __init__(self, causal: bool = False) -> None:
            super().__init__(causal=causal)
            self.seen: list[Tensor] = []

        def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
            self.seen.append(super().weights(scores, mask))
            return self.seen[-1]

    return Given(Encoder(Plotted), data.text(), CE)


@plants.fault(MEMORY, "mlp, a sum over all passes with its graph")
def _() -> Given:
    class Summed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.total = mlp(), torch.zeros(3)

        def forward(self, x: Tensor) -> Any:
            outputs = self.body(x)
            self.total = self.total + outputs.mean(0)
            return outputs

    return Given(Summed(), data.table(), CE)


@plants.fault(MEMORY, "rnn, 1,024 steps of 128 units for 32,768 samples")
def _() -> Given:
    waves, labels = data.series(32, 1024, 1)
    batch = waves.repeat(1024, 1, 1), labels.repeat(1024)
    return Given(RNN(1, width=128), batch, CE)
