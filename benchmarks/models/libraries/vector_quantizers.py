"""Autoencoders with the codes of vector-quantize-pytorch, as in its examples."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library

library = Library("vector-quantize-pytorch", "vector_quantize_pytorch")


class Autoencoder(nn.Module):
    """The small autoencoder of the examples, around a layer of codes."""

    def __init__(self, codes: nn.Module, width: int) -> None:
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.MaxPool2d(2), nn.GELU(),
            nn.Conv2d(16, width, 3, padding=1), nn.MaxPool2d(2),
        )  # fmt: skip
        self.codes = codes
        self.up = nn.Sequential(
            nn.Upsample(scale_factor=2), nn.Conv2d(width, 16, 3, padding=1), nn.GELU(),
            nn.Upsample(scale_factor=2), nn.Conv2d(16, 1, 3, padding=1),
        )  # fmt: skip

    def forward(self, images: Tensor) -> Any:
        found, _, *losses = self.codes(self.down(images))
        extra = losses[0] if losses else torch.zeros(())
        return self.up(found).clamp(-1, 1), extra


def rebuilds(outputs: tuple[Tensor, Tensor], images: Tensor) -> Tensor:
    return F.l1_loss(outputs[0], images) + 10 * outputs[1].mean()


def made(codes: nn.Module, width: int) -> Inputs:
    images = data.images(8, 1, 16, 8)[0].tanh()
    return Inputs(Autoencoder(codes, width), (images, images), rebuilds)


@library.architecture
def finite_scalars() -> Inputs:
    from vector_quantize_pytorch import FSQ

    return made(FSQ([8, 6, 5]), 3)


@library.architecture
def free_of_lookup() -> Inputs:
    from vector_quantize_pytorch import LFQ

    return made(LFQ(dim=6, codebook_size=64, entropy_loss_weight=0.02, diversity_gamma=1.0), 6)
