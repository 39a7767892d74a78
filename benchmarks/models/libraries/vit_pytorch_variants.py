"""Vision transformers of vit-pytorch for videos and images of any size, and rarer forms."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import classifies

library = Library("vit-pytorch", "vit_pytorch")
SIZES = {"image_size": 32, "patch_size": 8, "num_classes": 10, "dim": 48, "depth": 2}
SIZES |= {"heads": 4, "mlp_dim": 96}
DROPOUT = {"dropout": 0.1, "emb_dropout": 0.1}


def made(module: str, name: str, **settings: Any) -> Any:
    """Return a model of a module of the library."""
    return getattr(import_module(f"vit_pytorch.{module}"), name)(**settings)


@library.architecture
def normalized_vit() -> Inputs:
    return classifies(made("normalized_vit", "nViT", **SIZES))


@library.architecture
def separable_vit() -> Inputs:
    model = made(
        "sep_vit", "SepViT", num_classes=10, dim=16, dim_head=8, heads=(1, 2), depth=(1, 1),
        window_size=7, dropout=0.1,
    )  # fmt: skip
    return classifies(model, 56)


@library.architecture
def video_transformer() -> Inputs:
    model = made(
        "vivit", "ViViT", image_size=16, image_patch_size=8, frames=4, frame_patch_size=2,
        num_classes=4, dim=32, spatial_depth=1, temporal_depth=1, heads=4, mlp_dim=64,
    )  # fmt: skip
    images, labels = data.images(8, 3, 16, 4)
    videos = images[:, :, None] + 0.3 * torch.randn(8, 3, 4, 16, 16)
    return Inputs(model, (videos, labels), nn.CrossEntropyLoss())


@library.architecture
def images_of_any_size() -> Inputs:
    model = made("na_vit", "NaViT", **SIZES, **DROPOUT, token_dropout_prob=0.1)
    labels = torch.arange(4)
    patterns = torch.randn(4, 3, 1, 1)
    images: list[Tensor] = [
        patterns[each] + 0.5 * torch.randn(3, 16 + 8 * (each % 2), 32 - 8 * (each % 3))
        for each in range(4)
    ]
    return Inputs(model, (images, labels), nn.CrossEntropyLoss())
