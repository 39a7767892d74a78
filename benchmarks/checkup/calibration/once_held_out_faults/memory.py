"""Models that need more memory than there is."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.checkup import data
from benchmarks.checkup.base_models import RNN, Attention, Encoder, Patches, mlp
from benchmarks.checkup.case import CaseList, Inputs

cases = CaseList()
MEMORY = "memory_is_bounded"
CE = nn.CrossEntropyLoss()


@cases.fault(MEMORY, "patches of one pixel for 2,048 images")
def _() -> Inputs:
    return Inputs(Patches(side=32, patch=1), data.images(2048, side=32), CE)


@cases.fault(MEMORY, "transformer, the weights of all passes are kept for a plot")
def _() -> Inputs:
    class Plotted(Attention):
        def __init__(self, causal: bool = False) -> None:
            super().__init__(causal=causal)
            self.seen: list[Tensor] = []

        def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
            self.seen.append(super().weights(scores, mask))
            return self.seen[-1]

    return Inputs(Encoder(Plotted), data.text(), CE)


@cases.fault(MEMORY, "mlp, a sum over all passes with its graph")
def _() -> Inputs:
    class Summed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.total = mlp(), torch.zeros(3)

        def forward(self, x: Tensor) -> Any:
            outputs = self.body(x)
            self.total = self.total + outputs.mean(0)
            return outputs

    return Inputs(Summed(), data.table(), CE)


@cases.fault(MEMORY, "rnn, 1,024 steps of 128 units for 32,768 samples")
def _() -> Inputs:
    waves, labels = data.series(32, 1024, 1)
    batch = waves.repeat(1024, 1, 1), labels.repeat(1024)
    return Inputs(RNN(1, width=128), batch, CE)
