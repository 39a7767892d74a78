"""Perceivers of perceiver-pytorch, as in its README."""

from __future__ import annotations

import torch
from torch import nn

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library

library = Library("perceiver-pytorch", "perceiver_pytorch")


@library.architecture
def perceiver_io() -> Inputs:
    from perceiver_pytorch import PerceiverIO

    class Answers(nn.Module):
        """Asks for one vector of classes with a query of its own."""

        def __init__(self) -> None:
            super().__init__()
            self.queries = nn.Parameter(torch.randn(1, 16))
            self.perceiver = PerceiverIO(
                dim=4, queries_dim=16, logits_dim=3, depth=2, num_latents=8, latent_dim=32,
                cross_heads=1, latent_heads=4, cross_dim_head=16, latent_dim_head=8,
            )  # fmt: skip

        def forward(self, series: torch.Tensor) -> torch.Tensor:
            answers: torch.Tensor = self.perceiver(series, queries=self.queries)
            return answers[:, 0]

    return Inputs(Answers(), data.series(12, 16, 4, 3), nn.CrossEntropyLoss())
