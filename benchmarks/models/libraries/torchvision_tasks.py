"""Models of torchvision for other tasks, made smaller by the arguments of their classes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import classifies, segments

library = Library("torchvision", "torchvision")


def models() -> Any:
    """Return `torchvision.models`."""
    import torchvision

    return torchvision.models


def made(name: str, **settings: Any) -> nn.Module:
    """Return a model with random weights for ten classes."""
    model: nn.Module = models().get_model(name, weights=None, **{"num_classes": 10} | settings)
    return model


@library.architecture
def resnet_fine_tuned() -> Inputs:
    model: Any = made("resnet18", num_classes=1000)
    model.fc = nn.Linear(model.fc.in_features, 2)
    return classifies(model, classes=2)


@library.architecture
def multiscale_video_transformer() -> Inputs:
    kinds = models().video.mvit
    blocks = [
        kinds.MSBlockConfig(2, 16, 32, [3, 3, 3], [3, 3, 3], [1, 2, 2], [1, 2, 2]),
        kinds.MSBlockConfig(4, 32, 32, [3, 3, 3], [3, 3, 3], [1, 1, 1], [1, 1, 1]),
    ]
    model = kinds.MViT(
        (32, 32), 8, blocks, residual_pool=True, residual_with_cls_embed=False,
        rel_pos_embed=True, proj_after_attn=True, num_classes=5,
    )  # fmt: skip
    images, labels = data.images(5, 3, 32, 5)
    clips = images[:, :, None] + 0.3 * torch.randn(5, 3, 8, 32, 32)
    return Inputs(model, (clips, labels), nn.CrossEntropyLoss())


def main_and_helping(outputs: dict[str, Tensor], labels: Tensor) -> Tensor:
    """Return the loss of the reference script for segmentation."""
    losses = {name: F.cross_entropy(each, labels) for name, each in outputs.items()}
    return losses["out"] + 0.5 * losses["aux"] if "aux" in losses else losses["out"]


@library.architecture
def fcn() -> Inputs:
    kinds = models()
    net = kinds.resnet
    layers = {"relu": "aux", "layer2": "out"}
    resnet = net.ResNet(net.BasicBlock, [1, 1, 1, 1])
    backbone = kinds._utils.IntermediateLayerGetter(resnet, layers)
    head = kinds.segmentation.fcn.FCNHead
    model = kinds.segmentation.FCN(backbone, head(128, 4), head(64, 4))
    return Inputs(model, segments(model).batch, main_and_helping)
