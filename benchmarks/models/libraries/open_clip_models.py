"""Image and text encoders of open_clip, with its contrastive loss."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library

library = Library("open_clip", "open_clip", "torchvision")
SIZES = {"context_length": 12, "vocab_size": 100, "width": 32, "heads": 4, "layers": 2}
VISION: dict[str, Any] = {"image_size": 32, "patch_size": 8, "width": 48, "layers": 2}


def pairs() -> tuple[Tensor, Tensor]:
    """Return images and texts that end with the greatest token."""
    images = data.images(8, 3, 32, 8)[0]
    texts = torch.randint(1, 98, (8, 12))
    texts[:, -1] = 99
    return images, texts


def contrasts(model: nn.Module, loss: Any) -> Inputs:
    def loss_of_features(features: tuple[Any, ...], _: None) -> Tensor:
        result: Tensor = loss(*(each for each in features if each is not None))
        return result

    return Inputs(model, (pairs(), None), loss_of_features)


@library.architecture
def clip() -> Inputs:
    from open_clip import CLIP, ClipLoss

    model = CLIP(embed_dim=32, vision_cfg=VISION | {"head_width": 12}, text_cfg=SIZES)
    return contrasts(model, ClipLoss())


@library.architecture
def siglip() -> Inputs:
    from open_clip import CLIP
    from open_clip.loss import SigLipLoss

    model = CLIP(
        embed_dim=32, vision_cfg=VISION | {"head_width": 12}, text_cfg=SIZES,
        init_logit_scale=2.3, init_logit_bias=-10.0,
    )  # fmt: skip
    return contrasts(model, SigLipLoss())
